"""What the demo shows at one moment: plain values, no rendering, no input or output."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum

from demo.topic import Counts

HOUR = timedelta(hours=1)


class HourState(Enum):
    """What is known about one hour of scheduled departures."""

    AHEAD = "not begun"
    OPEN = "open"
    FINAL_IN_CDC = "final in CDC"
    FINAL = "final in base"


@dataclass(frozen=True)
class TableView:
    """One Iceberg table. `watermark` is None before the first; `late` counts rows behind the watermark."""

    rows: int = 0
    commits: int = 0
    watermark: datetime | None = None
    late: int = 0
    late_hours: frozenset[datetime] = frozenset()


@dataclass(frozen=True)
class View:
    """One moment of the demo; instants are UTC."""

    elapsed_s: float
    speed: float
    clock: datetime
    start: datetime
    end: datetime
    changes: int
    changes_total: int
    counts: Counts
    cdc: TableView
    dead_letters: int
    base: TableView
    consumer_hour: datetime
    consumer: str
    notes: tuple[str, ...] = ()

    def with_notes(self, notes: Iterable[str]) -> "View":
        return replace(self, notes=tuple(notes))

    @property
    def hours_final(self) -> int:
        """Whole hours of data that are final in the base table."""
        if self.base.watermark is None:
            return 0
        return max(0, int((self.base.watermark - self.start) / HOUR))

    def state_of(self, hour: datetime) -> HourState:
        """The state of the hour that begins at `hour`."""
        if self.base.watermark is not None and hour + HOUR <= self.base.watermark:
            return HourState.FINAL
        if self.cdc.watermark is not None and hour + HOUR <= self.cdc.watermark:
            return HourState.FINAL_IN_CDC
        return HourState.OPEN if hour <= self.clock else HourState.AHEAD


def instant(value: datetime | None) -> str:
    """Short text for people."""
    return "none yet" if value is None else f"{value:%Y-%m-%d %H:%M}"


def amount(number: int, noun: str) -> str:
    """Such as `1 row` and `1,024 rows`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def hour_range(hour: datetime) -> str:
    return f"{hour:%Y-%m-%d %H:%M}–{hour + HOUR:%H:%M}"
