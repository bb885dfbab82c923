"""Facts made from rows, for tables that were written without them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from finalization.backtest import PastCommit
from finalization.digest import of_values
from finalization.facts import Facts, Partitions
from finalization.times import HOUR_MS, Granularity

_HOURS = Granularity("hour", HOUR_MS)


@dataclass(frozen=True)
class DataFile:
    """A data file and the commit that added it; `read` returns its event times in ms, or None."""

    snapshot_id: int
    committed_ms: int
    read: Callable[[], Sequence[int | None]]


def scan_commits(
    files: Iterable[DataFile],
    from_ms: int | None = None,
    to_ms: int | None = None,
    advance: Callable[[], None] = lambda: None,
) -> list[PastCommit]:
    """Reads every file once, one at a time, and returns a commit with facts for each snapshot, oldest first.

    Files that compaction rewrote count as of the compaction: scan before compacting, or leave that time out.
    """
    by_commit: dict[tuple[int, int], tuple[dict[int, int], int]] = {}
    for file in files:
        key = (file.committed_ms, file.snapshot_id)
        if (from_ms is None or file.committed_ms >= from_ms) and (to_ms is None or file.committed_ms < to_ms):
            counts, nulls = by_commit.setdefault(key, ({}, 0))
            for value in file.read():
                if value is None:
                    nulls += 1
                else:
                    counts[value] = counts.get(value, 0) + 1
            by_commit[key] = (counts, nulls)
        advance()
    return [
        PastCommit(committed_ms, _facts(counts, nulls))
        for (committed_ms, _), (counts, nulls) in sorted(by_commit.items())
    ]


def _facts(counts: dict[int, int], nulls: int) -> Facts:
    if not counts:
        return Facts(0, nulls)
    hours: dict[int, int] = {}
    for value, count in counts.items():
        index = _HOURS.index(value)
        hours[index] = hours.get(index, 0) + count
    digest = of_values(counts)
    return Facts(
        sum(counts.values()),
        nulls,
        min_ms=digest.min_ms,
        max_ms=digest.max_ms,
        digest_text=digest.encode(),
        partitions_text=Partitions.of(_HOURS, hours).encode(),
    )
