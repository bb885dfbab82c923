"""SQL that applies one change per key to a branch of the base table."""

from spark_upsert.changes import LAST, RowColumns, checked_op, image, toast_field
from spark_upsert.iceberg import column, literal
from spark_upsert.job import DELETED, EVENT_TIME, POSITION, UNAVAILABLE


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
    newer = f"(t.{column(POSITION)} IS NULL OR s.{LAST}.position > t.{column(POSITION)})"
    updates = ", ".join(f"t.{column(name)} = {value}" for name, value in _values(columns, soft, matched=True))
    inserts = _values(columns, soft, matched=False)
    names = ", ".join(column(name) for name, _ in inserts)
    values = ", ".join(value for _, value in inserts)
    delete = "" if soft else f"WHEN MATCHED AND {newer} AND {op} = 'd' THEN DELETE "
    insert_condition = "" if soft else f"AND {op} <> 'd' "
    return (
        f"MERGE INTO {target} t USING ({_with_op(folded)}) s ON {keys} "
        f"{delete}"
        f"WHEN MATCHED AND {newer} THEN UPDATE SET {updates} "
        f"WHEN NOT MATCHED {insert_condition}THEN INSERT ({names}) VALUES ({values})"
    )


def rows_query(folded: str, columns: RowColumns, soft: bool) -> str:
    """The rows that `fold`'s query makes of an empty table."""
    values = ", ".join(f"{value} AS {column(name)}" for name, value in _values(columns, soft, matched=False))
    return f"SELECT {values} FROM ({_with_op(folded)}) s" + ("" if soft else " WHERE s._op <> 'd'")


def _with_op(folded: str) -> str:
    return f"SELECT *, {checked_op(LAST)} AS _op FROM ({folded})"


def _values(columns: RowColumns, soft: bool, matched: bool) -> list[tuple[str, str]]:
    """What each column of the base table becomes."""
    values = [(name, f"s.{column(name)}") for name in columns.key]
    for name in columns.plain:
        value = f"s.{image(soft)}.{column(name)}"
        # Only soft deletes change a row without having an image of it.
        values.append(
            (name, f"IF(s.{image(soft)} IS NULL, t.{column(name)}, {value})" if soft and matched else value)
        )
    for index, name in enumerate(columns.toast):
        field = f"s.{toast_field(index)}"
        # Nothing to keep: then the placeholder itself says truthfully that the value is not known.
        unknown = f"t.{column(name)}" if matched else f"IF(s._op = 'd', NULL, {literal(UNAVAILABLE)})"
        values.append((name, f"IF({field} IS NULL, {unknown}, {field}.value)"))
    values += [(POSITION, f"s.{LAST}.position"), (EVENT_TIME, f"s.{LAST}.time")]
    if soft:
        values.append((DELETED, "s._op = 'd'"))
    return values
