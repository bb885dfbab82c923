"""What a sensor waits for, and whether it has it: one answer, however the looks come. No Airflow here."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from airflow_provider_iceberg_finalization.lookup.look import TableLook
from finalization.exceptions import CatalogUnreachableError, ConfigurationError, UnreadableTableError
from finalization.table_state import MAIN
from finalization.times import Granularity, format_duration, format_instant

_PASSING = (CatalogUnreachableError, UnreadableTableError, OSError)
"""Errors that may go away by themselves."""


class Status(StrEnum):
    """How a wait ended. LATE and MISTAKE do not change by trying again; UNREACHABLE may."""

    FINAL = "final"
    LATE = "late"
    MISTAKE = "mistake"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True)
class Terms:
    """All `tables` must be final up to `until_ms` (exclusive: W is at or after it).

    `max_late`: at most so many records may have come late into the last partition before `until_ms`, counted
    in each table, or in `late_table`. `patience_s`: how long an unreachable catalog is tried again; None:
    for ever. `must_exist`: a missing table is a mistake at once.
    """

    tables: tuple[str, ...]
    until_ms: int
    branch: str = MAIN
    max_late: int | None = None
    late_table: str | None = None
    patience_s: float | None = 60.0
    must_exist: bool = False

    def __post_init__(self) -> None:
        for table in self.looked_at:
            if "." not in table.strip("."):
                raise ConfigurationError(f"table is '{table}'; expected its full name, namespace.table")
        if not self.tables:
            raise ConfigurationError("table is not set; expected one full name, namespace.table, or several")

    @property
    def looked_at(self) -> tuple[str, ...]:
        """Every table to look at."""
        counted = (self.late_table,) if self.late_table and self.max_late is not None else ()
        return tuple(dict.fromkeys([*self.tables, *counted]))


@dataclass(frozen=True)
class Ending:
    """The end of a wait; `watermarks` maps tables to W in ms, None for those that have none."""

    status: Status
    text: str
    until_ms: int
    watermarks: Mapping[str, int | None] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """For a trigger's event and for XCom; instants in ISO-8601."""
        return {
            "status": self.status.value,
            "message": self.text,
            "until": format_instant(self.until_ms),
            "watermarks": {
                table: None if instant is None else format_instant(instant)
                for table, instant in self.watermarks.items()
            },
        }


class Wait:
    """Takes looks and tells when they are enough."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self._looks: dict[str, TableLook] = {}
        self._failing_since: dict[str, float] = {}

    def see(self, table: str, outcome: TableLook | Exception, now_s: float) -> str:
        """Takes a look or a failure; `now_s` is a monotonic clock's. Returns the line to log."""
        if isinstance(outcome, Exception):
            self._failing_since.setdefault(table, now_s)
            return f"{table}: {outcome}"
        self._failing_since.pop(table, None)
        self._looks[table] = outcome
        return self._describe(outcome)

    def ending(self, failure: Exception | None, now_s: float) -> Ending | None:
        """The end, if this is it; `failure` is the outcome just seen, if it was one."""
        if failure is not None:
            return self._ending_of_failure(failure, now_s)
        if self.terms.must_exist:
            for look in self._looks.values():
                if not look.exists:
                    return self._end(Status.MISTAKE, look.reason)
        if not all(self._reached(table) for table in self.terms.tables):
            return None
        if self.terms.max_late is None:
            return self._end(Status.FINAL, self._all())
        return self._ending_by_late_records(self.terms.max_late)

    @property
    def failing(self) -> bool:
        """Whether some table's last look failed."""
        return bool(self._failing_since)

    def _ending_of_failure(self, failure: Exception, now_s: float) -> Ending | None:
        if not isinstance(failure, _PASSING):
            return self._end(Status.MISTAKE, str(failure))
        patience, since = self.terms.patience_s, min(self._failing_since.values(), default=now_s)
        if patience is None or now_s - since < patience:
            return None
        return self._end(
            Status.UNREACHABLE, f"{failure} (tried again for {format_duration(round(patience * 1000))})"
        )

    def _ending_by_late_records(self, allowed: int) -> Ending | None:
        counted = (self.terms.late_table,) if self.terms.late_table else self.terms.tables
        for table in counted:
            look = self._looks.get(table)
            if look is None or not look.exists:
                return None
            if not look.counts_late:
                return self._end(
                    Status.MISTAKE,
                    f"max_late is {allowed}, but no commit of {table} counts late records; name in "
                    "late_table the table that the streaming job writes",
                )
            start_ms, late = late_before(look, self.terms.until_ms)
            if late > allowed:
                hour = f"{format_instant(start_ms)} to {format_instant(self.terms.until_ms)}"
                return self._end(
                    Status.LATE, f"{table}: {late} records came late into {hour}; max_late is {allowed}"
                )
        return self._end(Status.FINAL, self._all())

    def _reached(self, table: str) -> bool:
        look = self._looks.get(table)
        return look is not None and look.watermark_ms is not None and look.watermark_ms >= self.terms.until_ms

    def _end(self, status: Status, text: str) -> Ending:
        seen = {table: self._looks.get(table) for table in self.terms.tables}
        watermarks = {table: look.watermark_ms if look else None for table, look in seen.items()}
        return Ending(status, text, self.terms.until_ms, watermarks)

    def _all(self) -> str:
        return "final: " + "; ".join(self._describe(self._looks[table]) for table in self.terms.tables)

    def _describe(self, look: TableLook) -> str:
        awaited = f"awaited {format_instant(self.terms.until_ms)}"
        if look.watermark_ms is None:
            return f"{look.table}: W none yet, {awaited}; {look.reason}"
        text = f"{look.table}: W {format_instant(look.watermark_ms)}, {awaited}"
        gap = self.terms.until_ms - look.watermark_ms
        return f"{text}, gap {format_duration(gap)}; {look.reason}" if gap > 0 else f"{text}, reached"


def late_before(look: TableLook, until_ms: int) -> tuple[int, int]:
    """The start of the last partition before `until_ms`, and how many records came late into it.

    What a commit's facts sum up as older counts in full if it may hold the partition.
    """
    granularity = look.granularity or Granularity.parse("hour")
    start_ms = granularity.start(granularity.index(until_ms - 1))
    late = sum(
        part.records
        for commit in look.late
        for part in commit.partitions
        if part.end_ms > start_ms and (part.start_ms is None or part.start_ms < until_ms)
    )
    return start_ms, late
