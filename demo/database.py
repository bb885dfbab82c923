"""The table `flights` in PostgreSQL: its definition, its changes, its rows."""

from collections.abc import Iterable
from dataclasses import dataclass

import psycopg

from demo.flights import Change, Flight, Kind, Value

SCHEMA = "public"
TABLE = "flights"
KEY = "id"


@dataclass(frozen=True)
class Column:
    """A column, with its type in PostgreSQL and in Flink SQL."""

    name: str
    postgres: str
    flink: str


COLUMNS = (
    Column(KEY, "bigint PRIMARY KEY", "BIGINT"),
    Column("flight_date", "date NOT NULL", "DATE"),
    Column("carrier", "text NOT NULL", "STRING"),
    Column("flight", "integer NOT NULL", "INT"),
    Column("tailnum", "text", "STRING"),
    Column("origin", "text NOT NULL", "STRING"),
    Column("dest", "text NOT NULL", "STRING"),
    Column("sched_dep", "timestamp NOT NULL", "TIMESTAMP(6)"),
    Column("actual_dep", "timestamptz", "TIMESTAMP_LTZ(6)"),
    Column("dep_delay", "integer", "INT"),
    Column("arr_delay", "integer", "INT"),
    Column("air_time", "integer", "INT"),
    Column("distance", "numeric(6,1) NOT NULL", "DECIMAL(6, 1)"),
    Column("status", "text NOT NULL", "STRING"),
)
EVENT_TIME = "sched_dep"

Connection = psycopg.Connection[tuple[object, ...]]


def create_table(connection: Connection) -> None:
    definition = ", ".join(f"{column.name} {column.postgres}" for column in COLUMNS)
    connection.execute(f"CREATE TABLE {SCHEMA}.{TABLE} ({definition})")
    # Without it a delete's before image is made up, and its event time with it.
    connection.execute(f"ALTER TABLE {SCHEMA}.{TABLE} REPLICA IDENTITY FULL")


def apply(connection: Connection, changes: Iterable[Change]) -> None:
    """Makes the changes in one transaction."""
    with connection.transaction(), connection.pipeline():
        for change in changes:
            _apply(connection, change)


def rows(connection: Connection) -> dict[int, dict[str, object]]:
    """Returns all rows by key."""
    names = [column.name for column in COLUMNS]
    found = connection.execute(f"SELECT {', '.join(names)} FROM {SCHEMA}.{TABLE}").fetchall()
    return {int(str(row[0])): dict(zip(names, row, strict=True)) for row in found}


def _apply(connection: Connection, change: Change) -> None:
    flight = change.flight
    if change.kind is Kind.INSERT:
        places = ", ".join(["%s"] * len(COLUMNS))
        connection.execute(f"INSERT INTO {SCHEMA}.{TABLE} VALUES ({places})", _inserted(flight))
    elif change.kind is Kind.UPDATE:
        connection.execute(
            f"UPDATE {SCHEMA}.{TABLE} SET arr_delay = %s, air_time = %s, status = 'landed' WHERE {KEY} = %s",
            (flight.arrival_delay, flight.air_time, flight.id),
        )
    else:
        connection.execute(f"DELETE FROM {SCHEMA}.{TABLE} WHERE {KEY} = %s", (flight.id,))


def _inserted(flight: Flight) -> tuple[Value, ...]:
    """The row's first values, in the order of COLUMNS: what is known only after landing is still missing."""
    return (
        flight.id,
        flight.day,
        flight.carrier,
        flight.number,
        flight.tail,
        flight.origin,
        flight.destination,
        flight.scheduled.replace(tzinfo=None),
        flight.departed,
        flight.departure_delay,
        None,
        None,
        flight.distance,
        "scheduled" if flight.departed is None else "departed",
    )
