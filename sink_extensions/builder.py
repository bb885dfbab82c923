"""The sink for users of PyFlink's Table API and DataStream API.

Each way ends in one SQL `INSERT` with hints: what the extensions do is the same however a stream was made.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from finalization.exceptions import ConfigurationError
from sink_extensions import sql
from sink_extensions.options import (
    ACCUMULATORS,
    BY_KEY,
    COMMIT_PROCESSORS,
    FIELD_STATS_COLUMNS,
    PYTHON_PREFIX,
)
from sink_extensions.submission import check_columns, check_rows, check_target, plain_errors
from sink_extensions.targets import name_of

if TYPE_CHECKING:
    from pyflink.datastream import DataStream
    from pyflink.table import Schema, StatementSet, StreamTableEnvironment, Table, TableResult

_PATH_PART = re.compile(r"`(?P<quoted>[^`]+)`|(?P<plain>\w+)")
_PYTHON_TARGET = re.compile(r"(python:)?[\w.]+:\w+")
_JAVA_NAME = re.compile(r"[\w.$-]+")
_LISTS = {
    ACCUMULATORS: "accumulators()",
    COMMIT_PROCESSORS: "commit_processors()",
    FIELD_STATS_COLUMNS: "field_stats()",
}


@dataclass(frozen=True)
class ExtensibleSink:
    """An Iceberg table as the target of a job, with accumulators and commit processors.

    Each method returns a new sink, so a common one can be the start of several::

        sink = ExtensibleSink("ice.lake.clicks").field_stats("amount").commit_processors(Audit)
        sink.insert(table).wait()  # Table API: one job
        sink.add_to(statement_set, table)  # Table API: one of several inserts of a job
        sink.append(stream, t_env)  # DataStream API; then env.execute()

    Columns are matched by name, in any order; columns of the target that the source does not have become
    NULL. The target's catalog must be of type `iceberg-extensible`.

    What is set here are hints of the one statement. They are laid over the table's properties of the same
    keys: naming accumulators here replaces the table's own list.

    Wrong names and values raise `ConfigurationError`: here, or by `insert` and `append`, when the job is
    submitted. For `add_to` it is Flink's own error at `StatementSet.execute`, which carries the same text.

    Args:
        table: the target as in SQL: `catalog.database.table`, or shorter, seen from the current catalog and
            database; a name that is no plain word stands between backticks.
    """

    table: str
    properties: Mapping[str, str] = field(default_factory=dict)
    """What is set, as table properties: `ALTER TABLE … SET` takes the same."""

    def __post_init__(self) -> None:
        self._path()

    def accumulators(self, *names: str) -> ExtensibleSink:
        """Add accumulators, by service name or Java class name."""
        return self._add(ACCUMULATORS, [_java_name(ACCUMULATORS, name) for name in names])

    def field_stats(self, *columns: str) -> ExtensibleSink:
        """Add the accumulator `field-stats` for columns; with dots into nested fields."""
        return self.accumulators("field-stats")._add(
            FIELD_STATS_COLUMNS,
            [_list_item(FIELD_STATS_COLUMNS, column, "a column's name") for column in columns],
        )

    def commit_processors(self, *processors: str | type) -> ExtensibleSink:
        """Add commit processors; they run in the order given.

        Args:
            processors: Python classes, which the sink's Python process must be able to import; their names,
                `package.module:Class`; service names or class names of processors in Java.
        """
        return self._add(COMMIT_PROCESSORS, [_processor_name(processor) for processor in processors])

    def option(self, key: str, value: str | bool | int | float) -> ExtensibleSink:
        """Set another option: of the sink, an accumulator, a processor, or Iceberg's own writer."""
        if not isinstance(key, str) or not re.fullmatch(r"[^\s'=]+", key):
            raise ConfigurationError.of(
                "an option's key", key, "a text without blanks, such as sink.python.timeout"
            )
        if key in _LISTS:
            raise ConfigurationError.of(
                key, value, f"a call of {_LISTS[key]}", f"replace option('{key}', …) by {_LISTS[key]}"
            )
        if isinstance(value, bool):
            value = str(value).lower()
        if not isinstance(value, str | int | float):
            raise ConfigurationError.of(key, value, "a text, a number, True or False")
        if key in BY_KEY:
            BY_KEY[key].read(str(value))
        return self._set(key, str(value))

    def hints(self) -> str:
        """What is set, for a SQL statement of your own: `INSERT INTO t /*+ OPTIONS(…) */ SELECT …`."""
        return f"/*+ OPTIONS({sql.options(self.properties)}) */" if self.properties else ""

    def insert(self, table: Table, overwrite: bool = False) -> TableResult:
        """Submit a job that writes a table, as `Table.execute_insert` does.

        Args:
            overwrite: `INSERT OVERWRITE`, in batch mode.

        Raises:
            ConfigurationError: if a column, a name or a value is wrong; no job was started.
        """
        statement = self._statement(table, overwrite)
        with plain_errors():
            return table._t_env.execute_sql(statement)

    def add_to(self, statements: StatementSet, table: Table, overwrite: bool = False) -> StatementSet:
        """Add the writing of a table to the inserts of a statement set.

        Raises:
            ConfigurationError: if a column is wrong.
        """
        return statements.add_insert_sql(self._statement(table, overwrite))

    def append(self, stream: DataStream, t_env: StreamTableEnvironment, schema: Schema | None = None) -> None:
        """Append a stream of rows, as part of the job that `StreamExecutionEnvironment.execute` will start.

        Args:
            stream: rows with named fields, that is, of a type `Types.ROW_NAMED(names, types)`. All rows are
                inserts; for a changelog give `t_env.from_changelog_stream(stream)` to `add_to`.
            t_env: made from the stream's environment; has the target's catalog.
            schema: of the rows as a table, where it is not the obvious one: other types, computed columns,
                the records' own timestamps and watermarks; `StreamTableEnvironment.from_data_stream` has
                the details.

        Raises:
            ConfigurationError: if a column, a name or a value is wrong; nothing was added to the job.
        """
        if schema is None:
            check_rows(stream)
        with plain_errors():
            table = t_env.from_data_stream(stream, *([schema] if schema else []))
        statements = self.add_to(t_env.create_statement_set(), table)
        with plain_errors():
            statements.attach_as_datastream()

    def _statement(self, table: Table, overwrite: bool) -> str:
        path = self._path()
        check_target(table._t_env, path)
        columns = ", ".join(sql.identifier(column) for column in check_columns(table, path))
        verb = "OVERWRITE" if overwrite else "INTO"
        # A table's text registers it and is its name: what Flink documents for tables within SQL.
        return f"INSERT {verb} {sql.path(path)} {self.hints()} ({columns}) SELECT {columns} FROM {table}"

    def _path(self) -> list[str]:
        parts = list(_PATH_PART.finditer(self.table)) if isinstance(self.table, str) else []
        if not 1 <= len(parts) <= 3 or ".".join(part.group() for part in parts) != self.table:
            raise ConfigurationError.of(
                "table",
                self.table,
                "catalog.database.table",
                "put a name that is no plain word between backticks",
            )
        return [part["quoted"] or part["plain"] for part in parts]

    def _add(self, key: str, names: list[str]) -> ExtensibleSink:
        if not names:
            raise ConfigurationError.of(key, None, "at least one name")
        present = self.properties[key].split(",") if key in self.properties else []
        return self._set(key, ",".join(dict.fromkeys([*present, *names])))

    def _set(self, key: str, value: str) -> ExtensibleSink:
        return replace(self, properties={**self.properties, key: value})


def _processor_name(processor: Any) -> str:
    if isinstance(processor, type):
        return name_of(processor)
    if isinstance(processor, str) and ":" in processor:
        if not _PYTHON_TARGET.fullmatch(processor):
            raise ConfigurationError.of(COMMIT_PROCESSORS, processor, "python:package.module:Class")
        return PYTHON_PREFIX + processor.removeprefix(PYTHON_PREFIX)
    return _java_name(COMMIT_PROCESSORS, processor)


def _java_name(key: str, name: Any) -> str:
    form = "a service's name or the name of a Java class"
    if isinstance(name, str) and not _JAVA_NAME.fullmatch(name):
        raise ConfigurationError.of(key, name, form, "give each name as an argument of its own")
    return _list_item(key, name, form)


def _list_item(key: str, item: Any, form: str) -> str:
    if not isinstance(item, str) or not item.strip() or "," in item:
        fix = (
            f"give the class {type(item).__name__}, not an instance" if hasattr(item, "pre_commit") else None
        )
        raise ConfigurationError.of(key, item, form, fix)
    return item.strip()
