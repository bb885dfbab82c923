"""A year of real flights under several policies: `python -m examples.year_of_flights [--plot FILE]`.

Writes its tables into docs/choosing-a-policy.md. The flights are those of the demo, with a checkpoint every
five minutes and nothing but their times: a row enters when the flight actually leaves, and its event time
is the scheduled departure. Empty checkpoints make no snapshot, save every tenth in a row, as in Iceberg's
sink; the source is alive all year and says so by its heartbeats. Needs the extra `demo`.
"""

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

from demo.flights import Kind, changes_of, load_flights
from finalization.backtest import Backtest, PastCommit, Replay
from finalization.digest import of_values
from finalization.facts import Facts, Partitions
from finalization.policy import Policy
from finalization.times import Granularity, format_duration, parse_instant, to_millis

DOCUMENT = Path(__file__).parent.parent / "docs" / "choosing-a-policy.md"
CHECKPOINT_MS = 5 * 60_000
HEARTBEAT_MS = 5_000
EMPTY_SNAPSHOT_EVERY = 10
HOURS = Granularity.parse("hour")

DEFAULT = "lookback-commits=12"
ADVISED = "rule=lateness lookback-commits=72 lateness-quantile=0.96 allowed-lateness=PT2H10M"
POLICIES = (
    DEFAULT,
    "lookback-commits=6",
    "lookback-commits=24",
    "lookback-commits=48",
    "lookback-commits=12 statistic=p5",
    "lookback-commits=12 statistic=p50",
    "lookback-commits=12 allowed-lateness=PT1H",
    "lookback-commits=12 allowed-lateness=PT3H",
    "rule=lateness lookback-commits=12",
    "rule=lateness lookback-commits=96",
    "rule=lateness lookback-commits=288 lateness-quantile=0.75",
    "rule=lateness lookback-commits=288 lateness-quantile=0.98",
    "rule=lateness lookback-commits=2016 lateness-quantile=0.99",
    ADVISED,
)


def commits_of_flights(kinds: Iterable[Kind]) -> list[PastCommit]:
    """One commit for each checkpoint of the year; a cancelled flight never enters."""
    wanted = set(kinds)
    by_checkpoint: dict[int, list[int]] = {}
    for change in changes_of(load_flights(365)):
        if change.kind in wanted and change.flight.departed is not None:
            checkpoint = to_millis(change.at) // CHECKPOINT_MS + 1
            by_checkpoint.setdefault(checkpoint, []).append(to_millis(change.flight.scheduled))
    commits = []
    empty = 0
    for checkpoint in range(min(by_checkpoint), max(by_checkpoint) + 1):
        now = checkpoint * CHECKPOINT_MS
        values = by_checkpoint.get(checkpoint)
        empty = 0 if values else empty + 1
        facts = _facts(values or [], now - HEARTBEAT_MS)
        commits.append(PastCommit(now, facts, bool(values) or empty % EMPTY_SNAPSHOT_EVERY == 0))
    return commits


def _facts(values: list[int], read_up_to: int) -> Facts:
    if not values:
        return Facts(0, source_watermark_ms=read_up_to)
    counts: dict[int, int] = {}
    for value in values:
        counts[HOURS.index(value)] = counts.get(HOURS.index(value), 0) + 1
    return Facts(
        len(values),
        min_ms=min(values),
        max_ms=max(values),
        digest_text=of_values(values).encode(),
        partitions_text=Partitions.of(HOURS, counts).encode(),
        source_watermark_ms=read_up_to,
    )


def replay(commits: Sequence[PastCommit], texts: Iterable[str]) -> list[Replay]:
    runner = Backtest(commits)
    return [runner.replay(_policy(text), text) for text in texts]


def _policy(text: str) -> Policy:
    pairs = dict(pair.split("=", 1) for pair in text.split())
    return Policy.from_properties({f"finalization.{key}": value for key, value in pairs.items()})


def to_markdown(replays: Sequence[Replay]) -> str:
    lines = [
        "| policy | late records | share | median wait | p95 wait | p95 against the default |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    default = next(replay for replay in replays if replay.name == DEFAULT)
    for one in replays:
        assert one.wait_median_ms is not None
        assert one.wait_p95_ms is not None
        assert default.wait_p95_ms is not None
        cells = (
            f"`{one.name}`",
            f"{one.late_records:,}",
            f"{one.late_share:.2%}",
            format_duration(one.wait_median_ms),
            format_duration(one.wait_p95_ms),
            f"{one.wait_p95_ms / default.wait_p95_ms:.0%}",
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def put(document: str, name: str, text: str) -> str:
    """Replaces what stands between the two marks of a name."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    head, _, rest = document.partition(begin)
    _, _, tail = rest.partition(end)
    return f"{head}{begin}\n{text}\n{end}{tail}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plot", type=Path, help="also draw completeness against latency")
    arguments = parser.parse_args()
    departures = commits_of_flights([Kind.INSERT])
    middle = parse_instant("2013-07-01T00:00Z")
    halves = (
        [commit for commit in departures if commit.timestamp_ms < middle],
        [commit for commit in departures if commit.timestamp_ms >= middle],
    )
    whole = replay(departures, POLICIES)
    document = DOCUMENT.read_text()
    document = put(document, "departures", to_markdown(whole))
    for name, half in zip(("first half", "second half"), halves, strict=True):
        document = put(document, name, to_markdown(replay(half, (DEFAULT, ADVISED))))
    changes = commits_of_flights([Kind.INSERT, Kind.UPDATE])
    tried = (
        DEFAULT,
        "rule=lateness lookback-commits=288",
        "rule=lateness lookback-commits=288 lateness-quantile=0.99",
    )
    document = put(document, "changes", to_markdown(replay(changes, tried)))
    DOCUMENT.write_text(document)
    if arguments.plot:
        from finalization.plot import draw

        draw(whole, whole[-1], "A year of flights, commits every 5 minutes", arguments.plot)


if __name__ == "__main__":
    main()
