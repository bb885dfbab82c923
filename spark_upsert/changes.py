"""SQL that turns a batch of changes into one change per key."""

from collections.abc import Sequence
from dataclasses import dataclass

from spark_upsert.iceberg import column, literal
from spark_upsert.job import EVENT_TIME, OFFSET, OP, POSITION, UNAVAILABLE

UNKNOWN_OP = "unknown operation "
LAST, IMAGE = "_last", "_image"


@dataclass(frozen=True)
class RowColumns:
    """The row's columns by what folding does with them.

    `toast` are those whose values may be Debezium's placeholder; their real values may be in an earlier
    change, or only in the base table. `plain` are the others, without the key.
    """

    key: tuple[str, ...]
    plain: tuple[str, ...]
    toast: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.key, *self.plain, *self.toast)


def toast_field(index: int) -> str:
    """The name of a TOAST column's last known value, a struct: NULL if the batch does not have it."""
    return f"_toast_{index}"


def image(soft: bool) -> str:
    """Where `fold`'s query has the plain columns."""
    return IMAGE if soft else f"{LAST}.image"


def fold(sources: Sequence[str], columns: RowColumns, soft: bool, newer_than: str | None = None) -> str:
    """A query of one row per key: the key, `_last`, `_toast_<n>`, and `_image` if deletes are soft.

    `_last` (op, position, event time, image of the plain columns) is the change with the highest position;
    copies of it do not matter. A delete's image is not to be looked at: without REPLICA IDENTITY FULL only
    its key is real. So where a delete keeps the row, `_image` is that of the last change that is none, NULL
    if there is none. Changes up to the position `newer_than`, that of a TRUNCATE, count no more.

    The key stays the grouping column itself: a key inside a struct would make the join shuffle the base
    table.
    """
    order = f"struct({column(POSITION)}, coalesce({column(OFFSET)}, 0))"
    pairs = ", ".join(_quoted_pair(name) for name in columns.plain) or "'_', true"
    plain = f"named_struct({pairs})"
    last = f"'op', {column(OP)}, 'position', {column(POSITION)}, 'time', {column(EVENT_TIME)}"
    if soft:
        aggregates = [
            f"max_by(named_struct({last}), {order}) AS {LAST}",
            f"max_by({plain}, {order}) FILTER (WHERE {column(OP)} <> 'd') AS {IMAGE}",
        ]
    else:
        aggregates = [f"max_by(named_struct({last}, 'image', {plain}), {order}) AS {LAST}"]
    aggregates += [_last_known(index, name, order) for index, name in enumerate(columns.toast)]
    keys = ", ".join(column(name) for name in columns.key)
    counted = "" if newer_than is None else f"WHERE {column(POSITION)} > {literal(newer_than)} "
    return (
        f"SELECT {keys}, {', '.join(aggregates)} FROM ({' UNION ALL '.join(sources)}) "
        f"{counted}GROUP BY {keys}"
    )


def checked_op(last: str) -> str:
    """The operation of `_last`; the query fails on one that is not known."""
    op = f"{last}.op"
    text = (
        f"concat('{UNKNOWN_OP}', coalesce({op}, 'NULL'), ' at position ', coalesce({last}.position, 'NULL'))"
    )
    return f"CASE WHEN {op} IN ('c', 'u', 'r', 'd') THEN {op} ELSE raise_error({text}) END"


def _quoted_pair(name: str) -> str:
    return f"{literal(name)}, {column(name)}"


def _last_known(index: int, name: str, order: str) -> str:
    known = f"{column(name)} IS NULL OR {column(name)} <> {literal(UNAVAILABLE)}"
    return (
        f"max_by(named_struct('value', {column(name)}), {order}) "
        f"FILTER (WHERE {column(OP)} <> 'd' AND ({known})) AS {toast_field(index)}"
    )
