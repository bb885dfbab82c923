"""Instants, durations and partitions. Instants are whole milliseconds since the epoch, UTC, everywhere."""

import re
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_MILLISECOND = timedelta(milliseconds=1)
_ISO_DURATION = re.compile(
    r"P(?=.)(?:(\d+)D)?(?:T(?=.)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,3})\d*)?S)?)?", re.I
)
_SHORT_DURATION = re.compile(r"(\d+)\s*(ms|s|m|min|h|d)")
_SHORT_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": HOUR_MS, "d": DAY_MS}


def to_millis(instant: datetime) -> int:
    """The milliseconds of an aware datetime, rounded down."""
    return (instant - _EPOCH) // _MILLISECOND


def to_datetime(epoch_ms: int) -> datetime:
    """An aware UTC datetime."""
    return _EPOCH + epoch_ms * _MILLISECOND


def parse_instant(text: str) -> int:
    """Reads ISO-8601 with a zone, such as `2013-01-01T10:00Z` or `2013-01-01T10:00:00+05:30`.

    Raises ValueError, also for a time without a zone: it would mean another instant on another machine.
    """
    instant = datetime.fromisoformat(text.strip())
    if instant.tzinfo is None:
        raise ValueError(f"'{text}' has no time zone; write for instance {text.strip()}Z")
    return to_millis(instant)


def format_instant(epoch_ms: int) -> str:
    """ISO-8601 in UTC, such as `2013-01-01T10:00:00Z`; milliseconds only where there are some."""
    precision = "milliseconds" if epoch_ms % 1000 else "seconds"
    return to_datetime(epoch_ms).isoformat(timespec=precision).replace("+00:00", "Z")


def parse_duration(text: str) -> int:
    """Milliseconds of an ISO-8601 duration of days and smaller, in Java's form; not negative."""
    match = _ISO_DURATION.fullmatch(text.strip())
    if not match:
        raise ValueError(f"'{text}' is no ISO-8601 duration such as PT1H, PT15M or P1D")
    days, hours, minutes, seconds, fraction = match.groups(default="0")
    whole = ((int(days) * 24 + int(hours)) * 60 + int(minutes)) * 60 + int(seconds)
    return whole * 1000 + int(fraction.ljust(3, "0"))


def parse_interval(text: str) -> int:
    """Milliseconds of `10s`, `500ms`, `5m`, `2h`, `1d`, or of an ISO-8601 duration."""
    match = _SHORT_DURATION.fullmatch(text.strip().lower())
    if match:
        return int(match[1]) * _SHORT_UNITS_MS[match[2]]
    try:
        return parse_duration(text)
    except ValueError:
        raise ValueError(f"'{text}' is no duration such as 10s, 5m, 2h or PT10S") from None


def format_duration(duration_ms: int) -> str:
    """Short text for people: `3d 4h`, `2h 5m`, `12s`, `250ms`; the two largest units."""
    if duration_ms < 0:
        return "-" + format_duration(-duration_ms)
    parts: list[str] = []
    for unit in ("d", "h", "m", "s", "ms"):
        amount, duration_ms = divmod(duration_ms, _SHORT_UNITS_MS[unit])
        if amount or parts:
            parts.append(f"{amount}{unit}" if amount else "")
    return " ".join(part for part in parts[:2] if part) or "0s"


@lru_cache(maxsize=4096)
def _start_of_day(day: int, zone: ZoneInfo) -> int:
    """The first instant of a local day, as Java's `LocalDate.atStartOfDay(zone)`, also without a midnight."""
    midnight = datetime.fromordinal(_EPOCH_DAY + day)
    first = to_millis(midnight.replace(tzinfo=zone))
    by_later_offset = to_millis(midnight.replace(tzinfo=zone, fold=1))
    if by_later_offset >= first:
        return first
    # Midnight falls into a gap, which ends somewhere between the two readings of it: there the day begins.
    low, high = by_later_offset, first
    after = to_datetime(high).astimezone(zone).utcoffset()
    while low < high:
        middle = (low + high) // 2
        if to_datetime(middle).astimezone(zone).utcoffset() == after:
            high = middle
        else:
            low = middle + 1
    return high


@dataclass(frozen=True, slots=True)
class Granularity:
    """How event times fall into partitions: lengths that divide a day, counted from the epoch; or local days.

    `label` is the form in the facts: `hour`, `PT15M`, `day@Europe/Berlin`. A day's index is the local date,
    counted from 1970-01-01; other partitions' is floor(epoch ms / length).
    """

    label: str
    length_ms: int
    zone: ZoneInfo | None = field(default=None)

    @classmethod
    def parse(cls, text: str, zone: str = "UTC") -> "Granularity":
        """Reads `hour`, `day` (in `zone`), or an ISO duration that divides a day. Raises ValueError."""
        if text == "hour":
            return cls("hour", HOUR_MS)
        if text == "day":
            return cls(f"day@{zone}", DAY_MS, parse_zone(zone))
        length = parse_duration(text)
        if not 0 < length <= DAY_MS or DAY_MS % length:
            raise ValueError(f"'{text}' does not divide a day")
        return cls(text, length)

    @classmethod
    def from_label(cls, label: str) -> "Granularity":
        """The inverse of `label`. Raises ValueError."""
        name, _, zone = label.partition("@")
        if (name == "day") != bool(zone):
            raise ValueError(f"'{label}' is no granularity")
        return cls.parse(name, zone)

    def index(self, epoch_ms: int) -> int:
        """The partition that holds an instant."""
        if self.zone is None:
            return epoch_ms // self.length_ms
        return to_datetime(epoch_ms).astimezone(self.zone).toordinal() - _EPOCH_DAY

    def start(self, index: int) -> int:
        """A partition's first instant, which is where the one before ends."""
        return index * self.length_ms if self.zone is None else _start_of_day(index, self.zone)

    def floor(self, epoch_ms: int) -> int:
        """The last partition boundary at or before an instant."""
        return self.start(self.index(epoch_ms))


def parse_zone(name: str) -> ZoneInfo:
    """Raises ValueError for a name that is in no time-zone database."""
    try:
        return ZoneInfo(name)
    except (LookupError, OSError, ValueError):
        raise ValueError(f"'{name}' is no time zone such as UTC, Europe/Berlin or Asia/Kolkata") from None
