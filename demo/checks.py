"""What must hold at the end of a run, found out from the parts themselves."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot, ancestors_of

from demo.consumer import Report, as_text
from demo.database import COLUMNS, KEY
from demo.lake import (
    all_rows,
    late_by_hour,
    rows_of_hour,
    summary_of,
    total,
    watermark,
)
from demo.topic import Counts
from demo.view import HOUR, amount, instant
from finalization.facts import from_summary

_NAMES = tuple(column.name for column in COLUMNS)


@dataclass(frozen=True)
class Check:
    """One statement about the run, whether it is true, and the figures it rests on."""

    statement: str
    passed: bool
    detail: str


def base_equals_database(database: Mapping[int, Mapping[str, object]], base: Table) -> Check:
    """PostgreSQL's rows are the base table's, value by value."""
    statement = "PostgreSQL rows = base rows, value by value"
    rows = all_rows(base, _NAMES)
    by_key = {int(str(row[KEY])): row for row in rows}
    missing, extra = database.keys() - by_key.keys(), by_key.keys() - database.keys()
    different = [
        f"{KEY} {key}: {name} is {by_key[key][name]!r}, not {row[name]!r}"
        for key, row in database.items()
        if key in by_key
        for name in _NAMES
        if by_key[key][name] != row[name]
    ]
    problems = [f"{len(missing)} missing"] * bool(missing) + [f"{len(extra)} too many"] * bool(extra)
    problems += [f"{len(rows) - len(by_key)} twice"] * (len(rows) > len(by_key)) + different[:3]
    if problems:
        return Check(statement, False, "; ".join(problems))
    return Check(statement, True, f"{len(rows):,} rows of {len(_NAMES)} columns")


def every_event_arrived_once(counts: Counts, cdc: Table, dead_letters: Table) -> Check:
    """Kafka's change events and bad messages are the CDC rows and the dead letters, each exactly once."""
    places = [tuple(row.values()) for row in all_rows(cdc, ("_topic", "_kafka_partition", "_offset"))]
    dead = len(all_rows(dead_letters, ("offset",)))
    passed = len(places) == len(set(places)) == counts.changes and dead == counts.bad
    seen = f"{counts.changes:,} + {counts.bad} = {len(places):,} + {dead}"
    no_data = f"{counts.tombstones} tombstones are no data"
    return Check("Kafka events = CDC rows + dead letters", passed, f"{seen}; {no_data}")


def base_never_ahead(base: Table, cdc: Table) -> Check:
    """W of the base table is at most W of the CDC table. Load the base table first: W only grows."""
    base_w, cdc_w = watermark(base), watermark(cdc)
    passed = base_w is not None and cdc_w is not None and base_w <= cdc_w
    return Check("W of base ≤ W of CDC", passed, f"{instant(base_w)} ≤ {instant(cdc_w)}")


def every_commit_has_facts(cdc: Table) -> Check:
    """Every snapshot of the CDC table has facts, and they speak of all its rows."""
    snapshots = lineage(cdc)
    found = [(snapshot, from_summary(summary_of(snapshot))) for snapshot in snapshots]
    good = [
        facts
        for snapshot, facts in found
        if facts is not None
        and facts.count + facts.nulls + facts.rejected == total(snapshot, "added-records")
    ]
    counted = sum(facts.count for facts in good)
    return Check(
        "every commit has facts about all its rows",
        len(good) == len(snapshots) > 0,
        f"{len(good)} of {len(snapshots)} commits; {counted:,} event times",
    )


def consumer_read_complete_hour(report: Report | None, hour: datetime, base: Table, cdc: Table) -> Check:
    """What the consumer read is all that ever came for the hour, but for rows that were counted as late."""
    statement = "the consumer read a complete hour"
    if report is None:
        return Check(statement, False, "it was never released")
    offsets = [
        {(row[KEY], row["_offset"]) for row in rows_of_hour(cdc, hour, (KEY, "_offset"), snapshot)}
        for snapshot in (report.cdc_snapshot_id, None)
    ]
    came_later = offsets[1] - offsets[0]
    counted = late_by_hour(_after(cdc, report.cdc_snapshot_id)).get(hour, 0)
    read = {row[KEY]: row for row in report.rows}
    now = {row[KEY]: row for row in as_text(rows_of_hour(base, hour, _NAMES))}
    changed = {key for key in read.keys() | now.keys() if read.get(key) != now.get(key)}
    released_in_time = hour + HOUR <= report.watermark
    explained = changed <= {str(key) for key, _ in came_later}
    came = f"{amount(len(came_later), 'change')} came later, {counted} counted as late"
    detail = f"{amount(len(read), 'flight')} at W {instant(report.watermark)}; {came}"
    return Check(statement, released_in_time and explained and len(came_later) == counted, detail)


def lineage(table: Table) -> list[Snapshot]:
    """Returns the snapshots of main, newest first."""
    return list(ancestors_of(table.current_snapshot(), table.metadata))


def _after(table: Table, snapshot_id: int) -> Iterator[Snapshot]:
    for snapshot in lineage(table):
        if snapshot.snapshot_id == snapshot_id:
            return
        yield snapshot
