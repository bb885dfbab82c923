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


def fold(sources: Sequence[str], columns: RowColumns) -> str:
    """A query of one row per key: the key, `_last`, `_image` and `_toast_<n>`.

    `_last` (op, position, event time) is that of the change with the highest position; copies of it do not
    matter. `_image` holds the plain columns of the last change that is no delete, NULL if there is none: the
    image of a delete is not looked at, since without REPLICA IDENTITY FULL only its key is real.

    The key stays the grouping column itself: a key inside a struct would make the join shuffle the base
    table.
    """
    order = f"struct({column(POSITION)}, coalesce({column(OFFSET)}, 0))"
    named = ", ".join(f"{_quoted_pair(name)}" for name in columns.plain)
    image = f"named_struct({named})" if named else "named_struct('_', true)"
    last = f"named_struct('op', {column(OP)}, 'position', {column(POSITION)}, 'time', {column(EVENT_TIME)})"
    aggregates = [
        f"max_by({last}, {order}) AS {LAST}",
        f"max_by({image}, {order}) FILTER (WHERE {column(OP)} <> 'd') AS {IMAGE}",
        *(_last_known(index, name, order) for index, name in enumerate(columns.toast)),
    ]
    keys = ", ".join(column(name) for name in columns.key)
    return f"SELECT {keys}, {', '.join(aggregates)} FROM ({' UNION ALL '.join(sources)}) GROUP BY {keys}"


def checked_op(last: str) -> str:
    """The operation of `_last`; the query fails on one that is not known, such as a TRUNCATE."""
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
