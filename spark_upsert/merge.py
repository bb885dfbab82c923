"""SQL that applies one change per key to a branch of the base table."""

from spark_upsert.changes import LAST, RowColumns, checked_op, image, toast_field
from spark_upsert.iceberg import column, literal
from spark_upsert.job import DELETED, EVENT_TIME, OP, POSITION, UNAVAILABLE

_NO_IMAGE = "_no_image"


def merge_statement(
    target: str, folded: str, columns: RowColumns, soft: bool, nullable_keys: frozenset[str]
) -> str:
    """MERGE of `fold`'s query into `target`.

    A row is changed only by a change of a higher position, so copies and older changes that come again do
    nothing. Columns of the base table that the CDC table does not have keep their values. Rows that others
    wrote without a position are taken as older than any change.
    """
    keys = " AND ".join(
        # Null-safe only where needed: `<=>` is no equality to the planner, and costs the bucketed join.
        f"t.{column(name)} {'<=>' if name in nullable_keys else '='} s.{column(name)}"
        for name in columns.key
    )
    op = "s._op"
    newer = f"(t.{column(POSITION)} IS NULL OR s.{column(POSITION)} > t.{column(POSITION)})"
    updates = ", ".join(f"t.{column(name)} = {value}" for name, value in _values(columns, soft, matched=True))
    inserts = _values(columns, soft, matched=False)
    names = ", ".join(column(name) for name, _ in inserts)
    values = ", ".join(value for _, value in inserts)
    delete = "" if soft else f"WHEN MATCHED AND {newer} AND {op} = 'd' THEN DELETE "
    insert_condition = "" if soft else f"AND {op} <> 'd' "
    return (
        f"MERGE INTO {target} t USING ({_flat(folded, columns, soft)}) s ON {keys} "
        f"{delete}"
        f"WHEN MATCHED AND {newer} THEN UPDATE SET {updates} "
        f"WHEN NOT MATCHED {insert_condition}THEN INSERT ({names}) VALUES ({values})"
    )


def truncate_statement(target: str, position: str, soft: bool) -> str:
    """Removes, or marks as deleted, what a TRUNCATE at this position found in the source.

    Rows that others wrote without a position are taken as older than any change, as in `merge_statement`.
    """
    older = f"({column(POSITION)} IS NULL OR {column(POSITION)} < {literal(position)})"
    if not soft:
        return f"DELETE FROM {target} WHERE {older}"
    return (
        f"UPDATE {target} SET {column(DELETED)} = true, {column(POSITION)} = {literal(position)}, "
        f"{column(EVENT_TIME)} = NULL WHERE {older} AND {column(DELETED)} IS NOT TRUE"
    )


def rows_query(folded: str, columns: RowColumns, soft: bool) -> str:
    """The rows that `fold`'s query makes of an empty table."""
    values = ", ".join(f"{value} AS {column(name)}" for name, value in _values(columns, soft, matched=False))
    return f"SELECT {values} FROM ({_flat(folded, columns, soft)}) s" + (
        "" if soft else " WHERE s._op <> 'd'"
    )


def _flat(folded: str, columns: RowColumns, soft: bool) -> str:
    """`fold`'s query with a column for each value: structs would be carried through the join and its sort."""
    selected = [
        *(column(name) for name in columns.key),
        f"{checked_op(LAST)} AS {column(OP)}",
        f"{LAST}.position AS {column(POSITION)}",
        f"{LAST}.time AS {column(EVENT_TIME)}",
        *(f"{image(soft)}.{column(name)} AS {column(name)}" for name in columns.plain),
        *(toast_field(index) for index in range(len(columns.toast))),
    ]
    if soft:
        selected.append(f"{image(soft)} IS NULL AS {_NO_IMAGE}")
    return f"SELECT {', '.join(selected)} FROM ({folded})"


def _values(columns: RowColumns, soft: bool, matched: bool) -> list[tuple[str, str]]:
    """What each column of the base table becomes."""
    values = [(name, f"s.{column(name)}") for name in columns.key]
    for name in columns.plain:
        value = f"s.{column(name)}"
        # Only soft deletes change a row without having an image of it.
        kept = f"IF(s.{_NO_IMAGE}, t.{column(name)}, {value})"
        values.append((name, kept if soft and matched else value))
    for index, name in enumerate(columns.toast):
        field = f"s.{toast_field(index)}"
        # Nothing to keep: then the placeholder itself says truthfully that the value is not known.
        unknown = f"t.{column(name)}" if matched else f"IF(s._op = 'd', NULL, {literal(UNAVAILABLE)})"
        values.append((name, f"IF({field} IS NULL, {unknown}, {field}.value)"))
    values += [(name, f"s.{column(name)}") for name in (POSITION, EVENT_TIME)]
    if soft:
        values.append((DELETED, "s._op = 'd'"))
    return values
