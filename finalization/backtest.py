"""Replays a table's own facts under any policy: how much would have been late, how long readers waited.

The replay is the algorithm of `finalization.watermark`, made incremental so that ten thousand commits under
twenty policies take a second or two; a test compares the two on generated histories. All times are ms, UTC.
"""

from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from finalization.exceptions import MalformedFactsError
from finalization.facts import Facts, from_summary
from finalization.lineage import REPLACE, Snapshot
from finalization.policy import LATENESS, SOURCE_WATERMARK, Policy
from finalization.times import Granularity
from finalization.watermark import believable_source_watermark, rank_quantile


@dataclass(frozen=True)
class PastCommit:
    """A commit; `facts` None: someone else wrote, and what lies before does not count after it.

    `is_snapshot` is False for a checkpoint without records that made no snapshot: it does not count towards
    X, but still tells how far the source is read.
    """

    timestamp_ms: int
    facts: Facts | None
    is_snapshot: bool = True

    @cached_property
    def boundaries(self) -> tuple[list[int], list[int]]:
        """Starts of the commit's partitions, ascending; and the records before each of them, and in all."""
        if self.facts is None or self.facts.count == 0:
            return [], [0]
        partitions = self.facts.partitions
        starts, before = [], [partitions.older]
        for index, count in sorted(partitions.counts.items()):
            starts.append(partitions.granularity.start(index))
            before.append(before[-1] + count)
        return starts, before

    def late(self, watermark: int | None) -> int:
        """As `finalization.lateness.count_late`."""
        facts = self.facts
        if facts is None or facts.min_ms is None or watermark is None or facts.min_ms >= watermark:
            return 0
        starts, before = self.boundaries
        return before[bisect_left(starts, watermark)]


@dataclass(frozen=True)
class Replay:
    """What a policy would have done.

    `partitions` are those that hold records and ended before the history did; `final` of them would be
    final at its end. A wait runs from a partition's end to the commit that finalized it; a partition that
    was not finalized counts with the time up to the last commit, so that a policy cannot look quick by
    finalizing little.
    """

    name: str
    policy: Policy
    commits: int
    records: int
    late_records: int
    late_commits: int
    partitions: int
    final: int
    wait_median_ms: int | None
    wait_p95_ms: int | None
    watermark_ms: int | None

    @property
    def late_share(self) -> float:
        return self.late_records / self.records if self.records else 0.0

    def beats(self, other: "Replay") -> bool:
        """No worse on any axis, and better on one."""
        mine, theirs = self._axes(), other._axes()
        return mine != theirs and all(m <= t for m, t in zip(mine, theirs, strict=True))

    def _axes(self) -> tuple[float, float, float]:
        endless = float("inf")
        median = endless if self.wait_median_ms is None else self.wait_median_ms
        p95 = endless if self.wait_p95_ms is None else self.wait_p95_ms
        return self.late_records, median, p95


def commits_of(
    lineage: Iterable[Snapshot], from_ms: int | None = None, to_ms: int | None = None
) -> list[PastCommit]:
    """The commits of a lineage (newest first), oldest first, committed within [from, to)."""
    commits = []
    for snapshot in lineage:
        if snapshot.operation == REPLACE or not _within(snapshot.timestamp_ms, from_ms, to_ms):
            continue
        try:
            facts = from_summary(snapshot.summary)
        except MalformedFactsError:
            facts = None
        if facts is not None or snapshot.changes_data:
            commits.append(PastCommit(snapshot.timestamp_ms, facts))
    return commits[::-1]


def _within(instant: int, from_ms: int | None, to_ms: int | None) -> bool:
    return (from_ms is None or instant >= from_ms) and (to_ms is None or instant < to_ms)


class Backtest:
    """A history, prepared once and replayed under many policies."""

    def __init__(self, commits: Sequence[PastCommit]) -> None:
        self.commits = commits
        self.records = sum(commit.facts.count for commit in commits if commit.facts)
        self._statistics: dict[str, list[int | None]] = {}
        self._ends: dict[str, list[int]] = {}

    def replay(self, policy: Policy, name: str = "") -> Replay:
        """Runs one policy over the whole history."""
        watermark: int | None = None
        late = late_commits = 0
        ends = self._partition_ends(policy.granularity)
        waits: list[int] = []
        for commit, candidate in zip(self.commits, self._candidates(policy), strict=True):
            if watermark is not None and (records := commit.late(watermark)):
                late += records
                late_commits += 1
            if candidate is None:
                continue
            candidate = policy.granularity.floor(candidate)
            if watermark is None or candidate > watermark:
                watermark = candidate
                final = bisect_right(ends, watermark)
                waits += [commit.timestamp_ms - end for end in ends[len(waits) : final]]
        final = len(waits)
        if self.commits:
            newest = self.commits[-1].timestamp_ms
            waits += [newest - end for end in ends[final:]]
        waits.sort()
        return Replay(
            name,
            policy,
            len(self.commits),
            self.records,
            late,
            late_commits,
            len(ends),
            final,
            rank_quantile(waits, 0.5) if waits else None,
            rank_quantile(waits, 0.95) if waits else None,
            watermark,
        )

    def _candidates(self, policy: Policy) -> Iterator[int | None]:
        """The instant before rounding down, after each commit; None where the rule gives none."""
        return self._by_lateness(policy) if policy.rule == LATENESS else self._by_minimum(policy)

    def _by_minimum(self, policy: Policy) -> Iterator[int | None]:
        wanted, allowed = policy.lookback_commits, policy.allowed_lateness
        window: deque[tuple[int, int]] = (
            deque()
        )  # (number, statistic), both ascending: the first is the minimum
        found = 0
        for commit, value in zip(self.commits, self._statistic(policy), strict=True):
            if commit.facts is None:
                window.clear()
                found = 0
            if commit.facts is None or not commit.is_snapshot:
                yield None
                continue
            found += 1
            if value is not None:
                while window and window[-1][1] >= value:
                    window.pop()
                window.append((found, value))
            while window and window[0][0] <= found - wanted:
                window.popleft()
            if found < wanted:
                yield None
            elif window:
                yield window[0][1] - allowed
            elif policy.idle == SOURCE_WATERMARK:
                told = believable_source_watermark(commit.facts, commit.timestamp_ms, policy)
                yield None if told is None else told - allowed
            else:
                yield None

    def _by_lateness(self, policy: Policy) -> Iterator[int | None]:
        wanted = policy.lookback_commits
        in_order: deque[int] = deque()
        ascending: list[int] = []
        as_of = 0
        told: deque[tuple[int, int]] = (
            deque()
        )  # (commits with data before it, source watermark) of empty ones
        filled = 0
        for commit in self.commits:
            facts = commit.facts
            if facts is None:
                in_order.clear()
                ascending.clear()
                told.clear()
                yield None
                continue
            if facts.min_ms is not None:
                filled += 1
                as_of = commit.timestamp_ms
                in_order.append(as_of - facts.min_ms)
                insort(ascending, in_order[-1])
                if len(in_order) > wanted:
                    del ascending[bisect_left(ascending, in_order.popleft())]
            else:
                instant = believable_source_watermark(facts, commit.timestamp_ms, policy)
                if instant is not None:
                    while told and told[-1][1] <= instant:
                        told.pop()
                    told.append((filled, instant))
            # Only what was told since the oldest of the X commits is looked at.
            while told and told[0][0] <= filled - wanted:
                told.popleft()
            if len(in_order) < wanted:
                yield None
                continue
            usual = rank_quantile(ascending, policy.lateness_quantile)
            newest = max(as_of, told[0][1]) if told else as_of
            yield newest - max(policy.allowed_lateness, usual)

    def _statistic(self, policy: Policy) -> list[int | None]:
        if policy.statistic not in self._statistics:
            read = _reader(policy)
            self._statistics[policy.statistic] = [
                read(commit.facts) if commit.facts and commit.facts.count else None for commit in self.commits
            ]
        return self._statistics[policy.statistic]

    def _partition_ends(self, granularity: Granularity) -> list[int]:
        """Ends of the partitions that hold records, ascending; those that ended within the history."""
        if granularity.label not in self._ends:
            newest = self.commits[-1].timestamp_ms if self.commits else 0
            indices: set[int] = set()
            for commit in self.commits:
                # A partition of the facts that spans several of this granularity counts at its start.
                indices.update(granularity.index(start) for start in commit.boundaries[0])
            ends = sorted(granularity.start(index + 1) for index in indices)
            self._ends[granularity.label] = ends[: bisect_right(ends, newest)]
        return self._ends[granularity.label]


def _reader(policy: Policy) -> Callable[[Facts], int | None]:
    percent = policy.percentile
    if percent is not None:
        return lambda facts: facts.digest.fast_percentile(percent)
    return (lambda facts: facts.min_ms) if policy.statistic == "min" else (lambda facts: facts.max_ms)


def best(replays: Sequence[Replay], max_late_share: float) -> Replay | None:
    """The shortest p95 wait among those within `max_late_share`; if none is, the fewest late records."""
    fit = [
        replay for replay in replays if replay.late_share <= max_late_share and replay.wait_p95_ms is not None
    ]
    if fit:
        return min(fit, key=lambda replay: (replay.wait_p95_ms, replay.wait_median_ms, replay.late_records))
    return min(replays, key=lambda replay: replay.late_records, default=None)
