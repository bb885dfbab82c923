"""What one commit says about its event times, read from its snapshot's summary."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from finalization.digest import Digest, decode
from finalization.exceptions import MalformedFactsError
from finalization.times import Granularity

ACCUMULATOR = "event-time"
PREFIX = f"accumulator.{ACCUMULATOR}."

KEPT_PARTITIONS = 48
"""So many of a commit's newest partitions are counted one by one."""


@dataclass(frozen=True)
class Facts:
    """Facts of one commit; times in ms since the epoch, UTC.

    `count` records have a believable event time: neither `nulls` (missing or unparsable) nor `rejected` (out
    of bounds) are in it, nor in anything below it. The bounds and texts are None exactly when `count` is 0.
    `source_watermark_ms` is how far the source is known to be read, where the source tells.
    """

    count: int
    nulls: int = 0
    rejected: int = 0
    min_ms: int | None = None
    max_ms: int | None = None
    digest_text: str | None = None
    partitions_text: str | None = None
    source_watermark_ms: int | None = None

    @cached_property
    def digest(self) -> Digest:
        """Raises MalformedFactsError, also when there is none."""
        if self.digest_text is None:
            raise MalformedFactsError(f"{PREFIX}digest is not there")
        return decode(self.digest_text)

    @cached_property
    def partitions(self) -> "Partitions":
        """Raises MalformedFactsError, also when there are none."""
        if self.partitions_text is None:
            raise MalformedFactsError(f"{PREFIX}partitions is not there")
        return Partitions.decode(self.partitions_text)


def from_summary(summary: Mapping[str, str]) -> Facts | None:
    """The facts in a snapshot's summary, None if there are none. Raises MalformedFactsError."""
    if PREFIX + "count" not in summary:
        return None
    return from_accumulator(
        {key.removeprefix(PREFIX): text for key, text in summary.items() if key.startswith(PREFIX)}
    )


def from_accumulator(values: Mapping[str, str]) -> Facts:
    """The facts as the accumulator hands them over, by key without prefix. Raises MalformedFactsError."""
    count, nulls, rejected = (_integer(values, key, least=0) for key in ("count", "nulls", "rejected"))
    if count is None:
        raise MalformedFactsError(f"{PREFIX}count is not there")
    min_ms, max_ms = _integer(values, "min-ms"), _integer(values, "max-ms")
    if count and (min_ms is None or max_ms is None or min_ms > max_ms):
        raise MalformedFactsError(f"{PREFIX}count is {count}, but min-ms is {min_ms} and max-ms is {max_ms}")
    return Facts(
        count,
        nulls or 0,
        rejected or 0,
        min_ms,
        max_ms,
        values.get("digest"),
        values.get("partitions"),
        _integer(values, "source-watermark-ms"),
    )


def _integer(values: Mapping[str, str], key: str, least: int | None = None) -> int | None:
    text = values.get(key)
    if text is None:
        return None
    try:
        number = int(text)
    except ValueError:
        raise MalformedFactsError(f"{PREFIX}{key} is '{text[:40]}'; expected a whole number") from None
    if least is not None and number < least:
        raise MalformedFactsError(f"{PREFIX}{key} is {number}; expected at least {least}")
    return number


@dataclass(frozen=True)
class Partitions:
    """Records per finalization partition, by index; `older` is the sum of those before the oldest index."""

    granularity: Granularity
    counts: Mapping[int, int]
    older: int = 0

    def encode(self) -> str:
        """Text such as `hour|379500:12,1:3|0`: granularity, `index:count` (indices as differences), older."""
        pairs = []
        previous = 0
        for index, count in sorted(self.counts.items()):
            pairs.append(f"{index - previous}:{count}")
            previous = index
        return f"{self.granularity.label}|{','.join(pairs)}|{self.older}"

    @classmethod
    def decode(cls, text: str) -> "Partitions":
        """Reads the text form. Raises MalformedFactsError."""
        try:
            label, pairs, older = text.split("|")
            counts: dict[int, int] = {}
            index = 0
            for pair in pairs.split(",") if pairs else ():
                step, _, count = pair.partition(":")
                index += int(step)
                counts[index] = int(count)
            return cls(_granularity(label), counts, int(older))
        except ValueError as e:
            raise MalformedFactsError(f"partitions '{text[:60]}' cannot be read: {e}") from None

    @classmethod
    def of(cls, granularity: Granularity, counts: Mapping[int, int]) -> "Partitions":
        """Keeps the newest partitions one by one and sums up the rest."""
        newest = dict(sorted(counts.items())[-KEPT_PARTITIONS:])
        return cls(granularity, newest, sum(counts.values()) - sum(newest.values()))


@lru_cache(maxsize=64)
def _granularity(label: str) -> Granularity:
    return Granularity.from_label(label)
