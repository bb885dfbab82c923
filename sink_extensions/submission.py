"""What is seen before Flink plans an insert, and Flink's refusals as plain errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from finalization.exceptions import ConfigurationError
from sink_extensions import sql

if TYPE_CHECKING:
    from pyflink.datastream import DataStream
    from pyflink.table import Table, TableEnvironment

_EXTENSIBLE_CATALOG = "org.apache.iceberg.flink.ExtensibleCatalogFactory$ExtensibleCatalog"
_SINK_REFUSES = "java.lang.IllegalArgumentException"
_FLINK_REFUSES = "org.apache.flink.table.api.ValidationException"


def check_target(t_env: TableEnvironment, path: Sequence[str]) -> None:
    """See that the target's catalog honours extensions: every other one takes their options and ignores them.

    Raises:
        ConfigurationError: if it is of another type.
    """
    name = path[0] if len(path) == 3 else t_env.get_current_catalog()
    if name not in t_env.list_catalogs():
        raise ConfigurationError.of("table", ".".join(path), f"a catalog out of {t_env.list_catalogs()}")
    kind = t_env.get_catalog(name)._j_catalog.getClass()
    if kind.getName() != _EXTENSIBLE_CATALOG:
        raise ConfigurationError(
            f"table is '{'.'.join(path)}', but catalog '{name}' is a {kind.getSimpleName()}, whose sinks "
            "have no extensions; expected one made with 'type' = 'iceberg-extensible', and else the options "
            "of 'type' = 'iceberg'"
        )


def check_columns(table: Table, path: Sequence[str]) -> list[str]:
    """Return the columns of a table that is to be written.

    Raises:
        ConfigurationError: if the target has not all of them.
    """
    columns: list[str] = table.get_schema().get_field_names()
    with plain_errors():
        target = table._t_env.from_path(sql.path(path))
    known = target.get_schema().get_field_names()
    unknown = [column for column in columns if column not in known]
    if unknown:
        raise ConfigurationError(
            f"{'.'.join(path)} has no column {', '.join(unknown)}; it has {', '.join(known)}. "
            "Fix: select or rename the source's columns"
        )
    return columns


def check_rows(stream: DataStream) -> None:
    """See that a stream's records have named fields.

    Raises:
        ConfigurationError: if they are anything else.
    """
    from pyflink.common.typeinfo import RowTypeInfo

    kind = stream.get_type()
    if not isinstance(kind, RowTypeInfo):
        raise ConfigurationError.of(
            "stream",
            kind,
            "rows with named fields",
            "give the last operator output_type=Types.ROW_NAMED([names], [types]), or append a schema",
        )


@contextmanager
def plain_errors() -> Iterator[None]:
    """Raise what the sink and Flink refuse as `ConfigurationError`; the Java error is its cause."""
    from py4j.protocol import Py4JJavaError

    try:
        yield
    except Py4JJavaError as error:
        refusal = _refusal(error.java_exception)
        if refusal is None:
            raise
        raise ConfigurationError(refusal) from error


def _refusal(error: Any) -> str | None:
    """The sink's reason, which Flink may have wrapped, or else Flink's own; None if it is another failure."""
    found = None
    cause = error
    while cause is not None:
        name = cause.getClass().getName()
        if name == _SINK_REFUSES:
            return str(cause.getMessage())
        if name == _FLINK_REFUSES and found is None:
            found = str(cause.getMessage())
        cause = cause.getCause()
    return found
