import subprocess
import sys

import pytest

from finalization.alerts import Alert
from finalization.facts import PREFIX
from finalization.lineage import Snapshot
from finalization.policy import Policy
from finalization.processor import MAX_ATTEMPTS, FinalizationProcessor
from tests.finalization.histories import HOUR, MINUTE, START, Context, Table, accumulator_of, commit


class Inbox:
    """Stands for `AlertDelivery`."""

    def __init__(self) -> None:
        self.alerts: list[Alert] = []

    def submit(self, alert: Alert, policy: Policy) -> None:
        self.alerts.append(alert)


@pytest.fixture
def inbox() -> Inbox:
    return Inbox()


@pytest.fixture
def processor(inbox) -> FinalizationProcessor:
    return FinalizationProcessor(inbox)


def fill(table: Table, processor: FinalizationProcessor, *minutes: int) -> None:
    for number, minute in enumerate(minutes):
        commit(table, processor, [START + minute * MINUTE], START + number * MINUTE)


def write(table: Table, accumulator: dict[str, str]) -> Snapshot:
    """A snapshot whose commit nobody looked after yet."""
    return table.append(START, "append", {PREFIX + key: text for key, text in accumulator.items()})


def test_watermark_advances_once_x_commits_are_there(processor):
    table = Table(lookback_commits="3")
    fill(table, processor, 61, 62)
    assert table.watermark is None
    fill(table, processor, 63)
    assert table.properties["finalization.watermark"] == "2013-01-01T11:00:00Z"


def test_watermark_is_written_only_when_it_advances(processor):
    table = Table(lookback_commits="1")
    fill(table, processor, 61)
    version = table.version
    fill(table, processor, 62, 63)
    assert table.version == version + 2  # the two snapshots, nothing else


def test_late_records_are_counted_in_the_commit_that_brings_them(processor):
    table = Table(lookback_commits="1")
    fill(table, processor, 61)
    snapshot = commit(table, processor, [START, START + 1, START + 2 * HOUR], START + HOUR)
    assert snapshot.summary["finalization.late-records"] == "2"
    assert snapshot.summary["finalization.late-partitions"] == f"hour|{START // HOUR}:2|0"


def test_a_punctual_commit_says_that_none_was_late(processor):
    table = Table()
    snapshot = commit(table, processor, [START], START)
    assert snapshot.summary["finalization.late-records"] == "0"
    assert "finalization.late-partitions" not in snapshot.summary


def test_a_refused_advance_is_decided_anew_on_fresh_metadata(processor):
    table = Table(lookback_commits="1")
    context = Context(table, accumulator_of([START + 61 * MINUTE]))
    snapshot = write(table, context.accumulators["event-time"])
    context.snapshot_id = snapshot.snapshot_id
    context.refresh()
    context.interference = 3
    processor.post_commit(context)
    assert table.watermark == START + HOUR


def test_a_racing_writer_that_got_further_is_never_undone(processor):
    table = Table(lookback_commits="1")
    context = Context(table, accumulator_of([START + 61 * MINUTE]))
    snapshot = write(table, context.accumulators["event-time"])
    context.snapshot_id = snapshot.snapshot_id
    context.refresh()
    table.properties = {**table.properties, "finalization.watermark": "2013-01-01T15:00:00Z"}
    table.version += 1
    processor.post_commit(context)
    assert table.properties["finalization.watermark"] == "2013-01-01T15:00:00Z"


def test_endless_contention_is_left_to_the_next_commit(processor, caplog):
    table = Table(lookback_commits="1")
    context = Context(table, accumulator_of([START + 61 * MINUTE]))
    write(table, context.accumulators["event-time"])
    context.refresh()
    context.interference = 10 * MAX_ATTEMPTS
    processor.post_commit(context)
    assert table.watermark is None
    assert "contended" in caplog.text
    fill(table, processor, 61)
    assert table.watermark == START + HOUR


def test_a_crash_before_the_property_update_costs_nothing(processor):
    table = Table(lookback_commits="1")
    facts = accumulator_of([START + 61 * MINUTE])
    snapshot = write(table, facts)
    restarted = Context(table, None)  # the start-up call: no accumulators
    restarted.snapshot_id = snapshot.snapshot_id
    processor.post_commit(restarted)
    assert table.watermark == START + HOUR
    version = table.version
    processor.post_commit(Context(table, None))
    assert table.version == version


def test_a_changed_policy_holds_from_the_next_commit_on(processor):
    table = Table(lookback_commits="12")
    fill(table, processor, 61, 62)
    table.properties = {**table.properties, "finalization.lookback-commits": "2"}
    fill(table, processor, 63)
    assert table.watermark == START + HOUR


def test_a_policy_change_never_takes_the_watermark_back(processor):
    table = Table(lookback_commits="1")
    fill(table, processor, 61, 121)
    table.properties = {**table.properties, "finalization.allowed-lateness": "P1D"}
    fill(table, processor, 122)
    assert table.watermark == START + 2 * HOUR


def test_a_wrong_policy_holds_and_does_not_fail_the_job(processor, caplog):
    table = Table(lookback_commits="none")
    fill(table, processor, 61)
    assert table.watermark is None
    assert "watermark holds: policy: finalization.lookback-commits is 'none'" in caplog.text


def test_malformed_facts_do_not_fail_the_job(processor, caplog):
    table = Table(lookback_commits="1")
    processor.pre_commit(Context(table, {"count": "many"}))
    assert "not counted" in caplog.text


def test_an_unreadable_watermark_holds_and_says_so(processor, caplog):
    table = Table(lookback_commits="1", watermark="yesterday")
    fill(table, processor, 61)
    assert table.properties["finalization.watermark"] == "yesterday"
    assert "finalization.watermark is 'yesterday'" in caplog.text


def test_a_table_without_policy_is_left_alone(processor):
    table = Table()
    del table.properties["finalization.event-time-column"]
    fill(table, processor, 61, 62)
    assert table.properties == {}


def test_a_branch_has_a_watermark_of_its_own(processor):
    table = Table(lookback_commits="1")
    context = Context(table, accumulator_of([START + 61 * MINUTE]))
    context.branch = "audit"
    write(table, context.accumulators["event-time"])
    context.refresh()
    processor.post_commit(context)
    assert table.watermark is None
    assert table.properties["finalization.watermark@audit"] == "2013-01-01T11:00:00Z"


def test_each_late_commit_sends_one_alert(processor, inbox):
    table = Table(lookback_commits="1")
    fill(table, processor, 61, 62)
    assert inbox.alerts == []
    snapshot = commit(table, processor, [START], START + HOUR)
    assert [alert.id for alert in inbox.alerts] == [f"lake.flights_cdc/main/{snapshot.snapshot_id}"]
    assert inbox.alerts[0].late.records == 1


def test_a_restart_sends_recent_alerts_again_with_the_same_ids(processor, inbox):
    table = Table(lookback_commits="3")
    fill(table, processor, 61, 62, 63)
    first, second = (
        commit(table, processor, [START], START + HOUR),
        commit(table, processor, [START], START + HOUR),
    )
    sent = {alert.id for alert in inbox.alerts}
    inbox.alerts.clear()
    restarted = Context(table, None)
    restarted.snapshot_id = second.snapshot_id
    processor.post_commit(restarted)
    assert {alert.id for alert in inbox.alerts} == sent
    assert len(sent) == len({first.snapshot_id, second.snapshot_id})


def test_a_long_history_of_compaction_is_read_as_far_as_needed(processor):
    table = Table(lookback_commits="2")
    fill(table, processor, 61)
    for _ in range(50):
        table.append(START, "replace", {})
    fill(table, processor, 62)
    assert table.watermark == START + HOUR


def test_the_worker_imports_the_pure_domain_only():
    heavy = [
        "pyiceberg",
        "pydantic",
        "rich",
        "typer",
        "yaml",
        "numpy",
        "pyarrow",
        "requests",
        "tdigest",
        "sqlalchemy",
    ]
    code = f"import sys, finalization.processor; print([m for m in {heavy} if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_a_quiet_night_is_finalized_by_checkpoints_that_made_no_commit(inbox):
    """Hours after the last snapshot: the source is alive and says so, each time a little further."""
    now = START + 9 * HOUR
    processor = FinalizationProcessor(inbox, now=lambda: now / 1000)
    table = Table(rule="lateness", lookback_commits="2")
    fill(table, processor, 1, 2)
    quiet = Context(table, accumulator_of([], source_watermark=now - MINUTE))
    processor.post_commit(quiet)
    assert table.watermark == START + 8 * HOUR


def test_a_quiet_night_stays_open_when_the_source_is_dead(inbox):
    processor = FinalizationProcessor(inbox, now=lambda: (START + 9 * HOUR) / 1000)
    table = Table(rule="lateness", lookback_commits="2")
    fill(table, processor, 1, 2)
    before = table.watermark
    processor.post_commit(Context(table, accumulator_of([], source_watermark=START + 2 * MINUTE)))
    processor.post_commit(Context(table, accumulator_of([])))
    assert table.watermark == before
