"""Flink SQL types, as pipeline files name them, in Iceberg's terms."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from finalization.exceptions import ConfigurationError

if TYPE_CHECKING:
    from pyiceberg.types import IcebergType

_FORM = re.compile(r"^\s*([A-Z_]+(?:\s+[A-Z]+)*)\s*(?:\(\s*([0-9, ]+?)\s*\))?\s*$")
EXPECTED = (
    "BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL(p, s), STRING, CHAR(n), VARCHAR(n), "
    "BYTES, DATE, TIME, TIMESTAMP(p), TIMESTAMP_LTZ(p)"
)


def iceberg_type(column: str, sql_type: str) -> IcebergType:
    """Return the Iceberg type of a Flink SQL type.

    Raises:
        ConfigurationError: naming the column, the type received and the types that can be used.
    """
    from pyiceberg import types

    simple: dict[str, IcebergType] = {
        "BOOLEAN": types.BooleanType(),
        "TINYINT": types.IntegerType(),
        "SMALLINT": types.IntegerType(),
        "INT": types.IntegerType(),
        "INTEGER": types.IntegerType(),
        "BIGINT": types.LongType(),
        "FLOAT": types.FloatType(),
        "DOUBLE": types.DoubleType(),
        "STRING": types.StringType(),
        "CHAR": types.StringType(),
        "VARCHAR": types.StringType(),
        "BYTES": types.BinaryType(),
        "VARBINARY": types.BinaryType(),
        "DATE": types.DateType(),
        "TIME": types.TimeType(),
        "TIMESTAMP": types.TimestampType(),
        "TIMESTAMP_LTZ": types.TimestamptzType(),
    }
    match = _FORM.match(sql_type.upper())
    name = match.group(1) if match else ""
    arguments = [int(part) for part in match.group(2).split(",")] if match and match.group(2) else []
    if name in ("DECIMAL", "NUMERIC") and len(arguments) in (1, 2):
        return types.DecimalType(arguments[0], arguments[1] if len(arguments) == 2 else 0)
    if name in simple:
        return simple[name]
    raise ConfigurationError(f"columns.{column} is {sql_type!r}; expected one of {EXPECTED}")
