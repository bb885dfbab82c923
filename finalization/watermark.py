"""The watermark algorithm: from a lineage, a policy and the current watermark to a decision with its reason.

Pure. The clock is not read: time is what the snapshots and their facts say. All times are ms since the
epoch, UTC.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import ceil

from finalization.digest import decode
from finalization.exceptions import MalformedFactsError
from finalization.facts import Facts, from_summary
from finalization.lineage import REPLACE, Snapshot
from finalization.policy import LATENESS, SOURCE_WATERMARK, Policy
from finalization.times import format_duration, format_instant

ADVANCED = "advanced"
OFF = "off"
WARMING_UP = "warming-up"
IDLE = "idle"
NOT_NEWER = "not-newer"


@dataclass(frozen=True, slots=True)
class Decision:
    """`watermark` is W after the decision; it differs from W before exactly when `code` is `advanced`."""

    code: str
    reason: str
    watermark: int | None
    candidate: int | None = None

    @property
    def advances(self) -> bool:
        return self.code == ADVANCED


@dataclass(frozen=True, slots=True)
class EmptyCheckpoint:
    """A checkpoint without records that made no snapshot: it only tells how far the source is read."""

    timestamp_ms: int
    facts: Facts


@dataclass(frozen=True, slots=True)
class Commit:
    """A snapshot with facts; `statistic` is what the policy takes from them, None for an empty commit."""

    snapshot: Snapshot
    facts: Facts
    statistic: int | None


def decide(
    lineage: Iterable[Snapshot],
    policy: Policy,
    current: int | None,
    checkpoint: EmptyCheckpoint | None = None,
) -> Decision:
    """Decides where W stands after the newest commit of `lineage`, newest first, read as far as needed.

    `checkpoint` holds the facts of a checkpoint without records that made no snapshot, if that is the
    newest news: it tells how far the source is read.
    """
    if not policy.enabled:
        return Decision(OFF, f"{OFF}: finalization.event-time-column is not set", current)
    commits, end = last_commits(lineage, policy)
    wanted = policy.lookback_commits
    found = sum(_counts_towards_x(commit, policy) for commit in commits)
    if found < wanted:
        return Decision(WARMING_UP, f"{WARMING_UP} {found}/{wanted}: {end}", current)
    rule = _by_lateness if policy.rule == LATENESS else _by_minimum
    instant, because = rule(commits, policy, checkpoint)
    if instant is None:
        return Decision(IDLE, f"{IDLE}: {because}", current)
    candidate = policy.granularity.floor(instant)
    if current is not None and candidate <= current:
        reason = f"{NOT_NEWER}: {because}, which gives {format_instant(candidate)}"
        return Decision(NOT_NEWER, reason, current, candidate)
    return Decision(ADVANCED, f"{ADVANCED}: {because}", candidate, candidate)


def last_commits(lineage: Iterable[Snapshot], policy: Policy) -> tuple[list[Commit], str]:
    """The last X commits with facts, newest first, and what ended the search where there are fewer."""
    commits: list[Commit] = []
    missing = policy.lookback_commits
    oldest: Snapshot | None = None
    for oldest in lineage:
        if oldest.operation == REPLACE:
            continue
        try:
            facts = from_summary(oldest.summary)
            if facts is None:
                if not oldest.changes_data:
                    continue
                return (
                    commits,
                    f"snapshot {oldest.snapshot_id} ({oldest.operation}) was written without facts",
                )
            commits.append(Commit(oldest, facts, _statistic(facts, policy)))
        except MalformedFactsError as e:
            return commits, f"snapshot {oldest.snapshot_id} has unreadable facts: {e}"
        missing -= _counts_towards_x(commits[-1], policy)
        if not missing:
            return commits, "enough"
    if oldest is not None and oldest.parent_id is not None:
        return (
            commits,
            "older snapshots are expired (history.expire.min-snapshots-to-keep is too small for X)",
        )
    return commits, "that is the whole history so far"


def _counts_towards_x(commit: Commit, policy: Policy) -> bool:
    """Empty commits count for `minimum`; `lateness` measures on commits with data only."""
    return policy.rule != LATENESS or commit.facts.count > 0


def _by_minimum(commits: list[Commit], policy: Policy, _: EmptyCheckpoint | None) -> tuple[int | None, str]:
    filled = [commit for commit in commits if commit.statistic is not None]
    if filled:
        least = min(filled, key=lambda commit: commit.statistic or 0)
        assert least.statistic is not None
        because = (
            f"the least {policy.statistic} event time of the last {len(commits)} commits is "
            f"{format_instant(least.statistic)} (snapshot {least.snapshot.snapshot_id})"
        )
        return least.statistic - policy.allowed_lateness, because
    if policy.idle != SOURCE_WATERMARK:
        return None, f"the last {len(commits)} commits are empty, and finalization.idle is {policy.idle}"
    instant = believable_source_watermark(commits[0].facts, commits[0].snapshot.timestamp_ms, policy)
    if instant is None:
        return None, f"the last {len(commits)} commits are empty, and the source tells no watermark"
    because = (
        f"the last {len(commits)} commits are empty, and the source is read up to {format_instant(instant)}"
    )
    return instant - policy.allowed_lateness, because


def _by_lateness(
    commits: list[Commit], policy: Policy, checkpoint: EmptyCheckpoint | None
) -> tuple[int | None, str]:
    filled = [commit for commit in commits if commit.facts.min_ms is not None]
    usual = rank_quantile(
        sorted(commit.snapshot.timestamp_ms - (commit.facts.min_ms or 0) for commit in filled),
        policy.lateness_quantile,
    )
    assumed = max(policy.allowed_lateness, usual)
    as_of = filled[0].snapshot.timestamp_ms
    told = [
        believable_source_watermark(c.facts, c.snapshot.timestamp_ms, policy)
        for c in commits
        if not c.facts.count
    ]
    if checkpoint is not None:
        told.append(believable_source_watermark(checkpoint.facts, checkpoint.timestamp_ms, policy))
    as_of = max([as_of, *[instant for instant in told if instant is not None]])
    because = (
        f"the source is read up to {format_instant(as_of)}, and {policy.lateness_quantile:g} of the last "
        f"{len(filled)} commits with data were at most {format_duration(assumed)} late"
    )
    return as_of - assumed, because


def believable_source_watermark(facts: Facts, timestamp_ms: int, policy: Policy) -> int | None:
    """How far the source is read; None where it does not tell, or tells its end or its beginning of time.

    Never later than the commit itself: a source whose clock is ahead is not read beyond it.
    """
    instant = facts.source_watermark_ms
    if instant is None or not policy.min_event_time <= instant <= timestamp_ms + policy.max_future:
        return None
    return min(instant, timestamp_ms)


def rank_quantile(ascending: list[int], share: float) -> int:
    """The least of the values that at least `share` of them do not exceed (nearest rank)."""
    return ascending[max(0, ceil(share * len(ascending) - 1e-9) - 1)]


def _statistic(facts: Facts, policy: Policy) -> int | None:
    if facts.count == 0:
        return None
    if policy.percentile is None:
        return facts.min_ms if policy.statistic == "min" else facts.max_ms
    return _percentile(facts.digest_text or "", policy.percentile)


@lru_cache(maxsize=16_384)
def _percentile(digest_text: str, percent: float) -> int:
    # Each commit asks again for those of the X − 1 commits before it.
    return decode(digest_text).percentile(percent)
