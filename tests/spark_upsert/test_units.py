"""What needs no Spark."""

from dataclasses import dataclass, field
from threading import Event

import pytest
import typer

from finalization.cli.app import create_app
from finalization.exceptions import ConfigurationError, TableMissingError
from spark_upsert import cli, runner
from spark_upsert.cdc_reader import plan
from spark_upsert.exceptions import HistoryLostError, RivalPublishedError
from spark_upsert.iceberg import column, literal, quote
from spark_upsert.job import UpsertJob, UpsertResult
from spark_upsert.leases import lease_end
from spark_upsert.maintenance import oldest_needed_ms

W = "2013-01-01T10:00:00Z"
FACTS = {"accumulator.event-time.count": "5"}
JOB = UpsertJob("ice", "lake.t_cdc", "lake.t", ("id",))


@dataclass
class FakeSnapshot:
    number: int
    parent: int | None
    kind: str = "append"
    added: int = 5

    def snapshotId(self) -> int:  # noqa: N802
        return self.number

    def parentId(self) -> int | None:  # noqa: N802
        return self.parent

    def schemaId(self) -> int:  # noqa: N802
        return 0

    def timestampMillis(self) -> int:  # noqa: N802
        return self.number

    def operation(self) -> str:
        return self.kind

    def summary(self) -> dict[str, str]:
        return {"added-records": str(self.added), "total-records": str(self.number * 5), **FACTS}


@dataclass
class FakeMetadata:
    snapshots: list[FakeSnapshot] = field(default_factory=list)

    def currentSnapshot(self) -> FakeSnapshot | None:  # noqa: N802
        return self.snapshots[-1] if self.snapshots else None

    def snapshot(self, number: int) -> FakeSnapshot | None:
        return next((s for s in self.snapshots if s.number == number), None)

    def properties(self) -> dict[str, str]:
        return {"finalization.watermark": W}


def chain(*kinds: str, first: int = 1) -> FakeMetadata:
    numbers = range(first, first + len(kinds))
    return FakeMetadata(
        [FakeSnapshot(n, n - 1 if n > 1 else None, kind) for n, kind in zip(numbers, kinds, strict=True)]
    )


def test_the_batch_is_what_was_appended_after_the_cursor() -> None:
    batch = plan(chain("append", "append", "replace", "append"), 1, False, None)

    assert batch is not None
    assert [s.number for s in batch.appends] == [2, 4]
    assert (batch.start_id, batch.end_id, batch.rows, batch.watermark, batch.remaining) == (1, 4, 10, W, 0)


def test_a_bounded_batch_ends_at_an_append_and_has_no_watermark() -> None:
    batch = plan(chain("append", "append", "replace", "append"), 1, False, 1)

    assert batch is not None
    assert (batch.end_id, batch.rows, batch.watermark, batch.remaining) == (2, 5, None, 1)


def test_without_a_cursor_the_whole_state_is_read_however_it_came_about() -> None:
    batch = plan(chain("append", "delete", "append", first=7), None, False, None)

    assert batch is not None
    assert (batch.start_id, batch.end_id, batch.rows) == (None, 9, 45)


@pytest.mark.parametrize(
    ("metadata", "cursor"),
    [
        (chain("append", "overwrite", "append"), 1),
        (chain("append", "delete"), 1),
        (chain("append", first=9), 3),
        (chain("append", "append"), 77),
        (FakeMetadata(), 1),
    ],
)
def test_history_that_does_not_reach_the_cursor_by_appends_names_the_rebuild(metadata, cursor) -> None:
    with pytest.raises(HistoryLostError, match="--full"):
        plan(metadata, cursor, False, None)


def test_an_empty_table_gives_no_batch() -> None:
    assert plan(FakeMetadata(), None, False, None) is None


def test_names_and_texts_are_quoted() -> None:
    assert quote("ice", "lake.odd`name") == "`ice`.`lake`.`odd``name`"
    assert column("a.b") == "`a.b`"
    assert literal("it's \\") == "'it\\'s \\\\'"


@pytest.mark.parametrize(
    ("ref", "end"),
    [
        ("upsert_123_abc", 123),
        ("maintain_77_abc", 77),
        ("main", None),
        ("upsert_mine", None),
        ("upsert_", None),
        ("audit_5", None),
    ],
)
def test_only_branches_of_runs_have_a_lease(ref: str, end: int | None) -> None:
    assert lease_end(ref) == end


@pytest.mark.parametrize(("cursor", "lookback", "oldest"), [(3, 1, 3), (3, 4, 2), (5, 9, 1), (77, 1, None)])
def test_the_log_keeps_the_cursor_and_the_commits_the_watermark_is_computed_from(
    cursor: int, lookback: int, oldest: int | None
) -> None:
    assert oldest_needed_ms(chain(*["append"] * 5), cursor, lookback) == oldest


def test_a_run_is_one_line() -> None:
    published = UpsertResult("published", 4, 3, 1234, None, W, remaining=2, attempts=2)
    assert runner.describe(published) == (
        f"1,234 changes of 3 snapshots, 2 snapshots left, attempt 2, watermark not yet known → {W}"
    )
    assert runner.describe(UpsertResult("nothing-new", 4, 0, 0, W, W)) == f"nothing new, watermark {W}"


def loop(monkeypatch: pytest.MonkeyPatch, *outcomes: UpsertResult | Exception) -> list[str]:
    """Runs the loop over these outcomes, then stops it; returns its lines."""
    said: list[str] = []
    stop = Event()
    left = list(outcomes)

    def upsert(*_: object, **__: object) -> UpsertResult:
        outcome = left.pop(0)
        if not left:
            stop.set()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    monkeypatch.setattr(runner, "upsert", upsert)
    runner.run_every(None, JOB, said.append, interval_s=0.0, stop=stop)
    return [line.split(" ", 1)[1] for line in said]


NOTHING = UpsertResult("nothing-new", 4, 0, 0, W, W)


def test_the_loop_waits_for_a_cdc_table_that_is_not_there_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = TableMissingError("lake.t_cdc")
    lines = loop(monkeypatch, missing, missing, NOTHING)

    assert lines[0] == "lake.t: waiting for the table lake.t_cdc"
    assert [line.split(":")[0] for line in lines] == ["lake.t", "lake.t"]


def test_the_loop_goes_on_after_a_failure_that_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = loop(monkeypatch, RivalPublishedError("another one"), OSError("locked"), NOTHING)

    assert lines[0] == "lake.t: failed, trying again: another one"
    assert lines[1] == "lake.t: failed, trying again: OSError: locked"
    assert "nothing new" in lines[2]


def test_the_loop_ends_with_what_a_person_must_look_at(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(HistoryLostError):
        loop(monkeypatch, NOTHING, HistoryLostError("gone"), NOTHING)
    with pytest.raises(OSError, match="locked"):
        loop(monkeypatch, *[OSError("locked")] * (runner.FAILURES_IN_A_ROW + 1))


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"every": "soon"}, "--every"),
        ({"every": "0s"}, "--every"),
        ({"full": True, "max_snapshots": 3}, "--max-snapshots"),
        ({"dry_run": True, "every": "5m"}, "--every"),
        ({"spark_settings": ["x"]}, "--spark"),
    ],
)
def test_a_wrong_option_is_named_before_spark_starts(options, key: str) -> None:
    with pytest.raises(ConfigurationError, match=key):
        cli.check_options(
            **{
                "every": None,
                "max_snapshots": None,
                "full": False,
                "dry_run": False,
                "spark_settings": [],
                **options,
            }
        )


def test_the_command_is_registered() -> None:
    app = create_app()

    assert "upsert" in {command.name for command in app.registered_commands}
    assert isinstance(app, typer.Typer)
