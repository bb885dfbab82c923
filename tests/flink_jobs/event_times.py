"""Python functions that a test's pipeline reads its event times with."""

from __future__ import annotations

import datetime as dt

from pyflink.table import DataTypes
from pyflink.table.udf import udf


@udf(result_type=DataTypes.BIGINT())
def of_name(name: str | None) -> int | None:
    """The hour in a name such as `2013-01-01T10_a`, in epoch milliseconds."""
    if name is None:
        return None
    hour = dt.datetime.strptime(name[:13], "%Y-%m-%dT%H").replace(tzinfo=dt.UTC)
    return int(hour.timestamp() * 1000)
