"""How many records of a commit came after their partition was final, exactly, by partition."""

from collections.abc import Mapping
from dataclasses import dataclass

from finalization.exceptions import MalformedFactsError
from finalization.facts import Facts, Partitions
from finalization.options import LATE_PARTITIONS, LATE_RECORDS


@dataclass(frozen=True)
class Late:
    """`records` have an event time before W, by `partitions`.

    `exact` is False only where the facts cannot tell: W is no boundary of the granularity they were counted
    in (the policy was changed while the job ran), or it lies among partitions so old that they were summed
    up. Then `records` is the most it can be.
    """

    records: int
    partitions: Partitions | None = None
    exact: bool = True


NONE_LATE = Late(0)


def count_late(facts: Facts, watermark: int | None) -> Late:
    """Records before `watermark` (ms), as it stood before the commit. Raises MalformedFactsError."""
    if watermark is None or facts.min_ms is None or facts.max_ms is None or facts.min_ms >= watermark:
        return NONE_LATE
    partitions = facts.partitions
    granularity = partitions.granularity
    late: dict[int, int] = {}
    exact = True
    for index, count in partitions.counts.items():
        if granularity.start(index) < watermark:
            late[index] = count
            exact = exact and (granularity.start(index + 1) <= watermark)
    if partitions.older and partitions.counts:
        exact = exact and granularity.start(min(partitions.counts)) <= watermark
    records = sum(late.values()) + partitions.older
    exact = exact or facts.max_ms < watermark
    return Late(records, Partitions(granularity, late, partitions.older), exact)


def to_summary(late: Late) -> dict[str, str]:
    """The entries for the snapshot that brings the records; partitions in the form of the facts' own."""
    entries = {LATE_RECORDS: str(late.records)}
    if late.partitions is not None:
        entries[LATE_PARTITIONS] = late.partitions.encode()
    return entries


def from_summary(summary: Mapping[str, str]) -> Late | None:
    """What `to_summary` wrote; None if the snapshot has nothing of it. Raises MalformedFactsError."""
    text = summary.get(LATE_RECORDS)
    if text is None:
        return None
    if not text.isdecimal():
        raise MalformedFactsError(f"{LATE_RECORDS} is '{text[:40]}'; expected a whole number")
    partitions = summary.get(LATE_PARTITIONS)
    return Late(int(text), Partitions.decode(partitions) if partitions else None)
