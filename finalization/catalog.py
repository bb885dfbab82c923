"""The only module that imports pyiceberg: opens catalogs, reads tables, writes table properties."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote, urlsplit

import requests
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import (
    CommitFailedException,
    NoSuchNamespaceError,
    NoSuchTableError,
    RESTError,
)
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.update import (
    AssertRefSnapshotId,
    RemovePropertiesUpdate,
    SetPropertiesUpdate,
    TableUpdate,
    ValidatableTableRequirement,
)
from sqlalchemy.exc import SQLAlchemyError

from finalization.catalog_config import CatalogConfig
from finalization.exceptions import (
    CatalogUnreachableError,
    ConfigurationError,
    TableMissingError,
    UnreadableTableError,
)
from finalization.lineage import Snapshot
from finalization.table_state import MAIN, TableState
from finalization.times import to_datetime

if TYPE_CHECKING:
    from finalization.pipeline import Pipeline
    from finalization.scan import DataFile

_PROPERTY_ATTEMPTS = 20


def open_catalog(
    source: "CatalogConfig | Pipeline | str",
    properties: Mapping[str, str] | None = None,
    *,
    must_exist: bool = False,
) -> Catalog:
    """Opens a catalog from its configuration, a pipeline's, or a name in pyiceberg's own configuration.

    `must_exist` is for readers: a mistyped path of a SQLite catalog is then an error, not a new empty
    catalog. Raises CatalogUnreachableError, and ConfigurationError for properties that make no catalog.
    """
    if isinstance(source, str):
        name, given = source, dict(properties or {})
    else:
        config = source if isinstance(source, CatalogConfig) else source.catalog
        name, given = config.name, {**config.pyiceberg_properties(), **(properties or {})}
    if must_exist:
        given = {"init_catalog_tables": "false", **given}
        _refuse_missing_file(given.get("uri", ""))
    with _reaching(name):
        try:
            return load_catalog(name, **given)
        except (ValueError, TypeError) as e:
            if isinstance(e, requests.RequestException):
                raise
            raise ConfigurationError(f"catalog {name} cannot be opened: {e}") from None


class FinalizationClient:
    """Reads what is final; a plain metadata lookup for each call, nothing is cached.

    Three outcomes are told apart. The table or its watermark is not there: `watermark` answers None, *not
    yet*, as the job that makes it may start later; `state` raises TableMissingError, with the nearest names
    there are, for those who know that it must exist. The name has no namespace: ConfigurationError from
    either. The catalog does not answer: CatalogUnreachableError from either. Metadata that cannot be read:
    UnreadableTableError.
    """

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog

    @classmethod
    def open(
        cls, source: "CatalogConfig | Pipeline | str", properties: Mapping[str, str] | None = None
    ) -> "FinalizationClient":
        """As `open_catalog` for a catalog that must exist."""
        return cls(open_catalog(source, properties, must_exist=True))

    def watermark(self, table: str, branch: str = MAIN) -> datetime | None:
        """W as an aware UTC datetime: every event time before it is final. None: not yet."""
        try:
            watermark = self.state(table).watermark_ms(branch)
        except TableMissingError:
            return None
        return None if watermark is None else to_datetime(watermark)

    def state(self, table: str) -> TableState:
        """Everything about a table, from one metadata object."""
        return to_state(table, self._load(table).metadata)

    def properties(self, table: str) -> dict[str, str]:
        """All of the table's properties."""
        return dict(self._load(table).metadata.properties)

    def lineage(self, table: str, branch: str = MAIN) -> Iterator[Snapshot]:
        """Newest first along parents, as far as snapshots are kept."""
        return self.state(table).lineage(branch)

    def tables(self) -> list[str]:
        """The full names of all tables, sorted."""
        names: list[str] = []
        with _reaching(self.catalog.name):
            waiting = list(self.catalog.list_namespaces())
            while waiting:
                namespace = waiting.pop()
                names += [".".join(identifier) for identifier in self.catalog.list_tables(namespace)]
                waiting += [inner for inner in self.catalog.list_namespaces(namespace) if inner != namespace]
        return sorted(set(names))

    def data_files(self, table: str, column: str) -> "list[DataFile]":
        """The table's data files, each with a way to read the event times of one column from it.

        Raises ConfigurationError for a column that is not there or holds no timestamps.
        """
        loaded = self._load(table)
        if str(to_state(table, loaded.metadata).columns.get(column)) not in ("timestamp", "timestamptz"):
            raise ConfigurationError(f"--scan reads timestamps; {column} of {table} is none")
        with _reaching(self.catalog.name, table):
            return list(_data_files(loaded, column))

    def set_properties(self, table: str, updates: Mapping[str, str], removals: tuple[str, ...] = ()) -> None:
        """Sets and removes properties, whoever else writes the table meanwhile; other keys stay as they are.

        Not for the watermark: it must only go forward, see `compare_and_set`. Raises CommitFailedException
        after many refusals.
        """
        for attempt in range(_PROPERTY_ATTEMPTS):
            loaded = self._load(table)
            present = tuple(key for key in removals if key in loaded.metadata.properties)
            try:
                self._commit(loaded, updates, present, ())
                return
            except CommitFailedException:
                if attempt == _PROPERTY_ATTEMPTS - 1:
                    raise

    def compare_and_set(
        self, table: str, expected: Mapping[str, str | None], updates: Mapping[str, str]
    ) -> bool:
        """Sets properties if those in `expected` still have these values (None: are not there); else False.

        A true compare-and-swap on catalogs that commit here (SQL, Glue, Hive, …). A REST service gets the
        strongest condition its protocol has: that branch main has not moved since the values were compared.
        """
        loaded = self._load(table)
        unchanged = _PropertiesUnchanged(expected=dict(expected))
        requirement: Any = unchanged
        try:
            unchanged.validate(loaded.metadata)
            if self.catalog.properties.get("type") == "rest":
                head = loaded.metadata.refs.get(MAIN)
                requirement = AssertRefSnapshotId.model_validate(
                    {"ref": MAIN, "snapshot-id": head.snapshot_id if head else None}
                )
            self._commit(loaded, updates, (), (requirement,))
        except CommitFailedException:
            return False
        return True

    def _commit(
        self,
        loaded: Table,
        updates: Mapping[str, str],
        removals: tuple[str, ...],
        requirements: tuple[Any, ...],
    ) -> None:
        changes: list[TableUpdate] = []
        if updates:
            changes.append(SetPropertiesUpdate(updates=dict(updates)))
        if removals:
            changes.append(RemovePropertiesUpdate(removals=list(removals)))
        if changes:
            with _reaching(self.catalog.name):
                self.catalog.commit_table(loaded, requirements, tuple(changes))

    def _load(self, table: str) -> Table:
        if "." not in table.strip("."):
            raise ConfigurationError(f"table is '{table}'; expected its full name, namespace.table")
        with _reaching(self.catalog.name, table):
            try:
                return self.catalog.load_table(table)
            except (NoSuchTableError, NoSuchNamespaceError):
                raise TableMissingError(table, self._hint(table)) from None

    def _hint(self, table: str) -> str:
        near = get_close_matches(table, self.tables(), n=2)
        return f"did you mean {' or '.join(near)}?" if near else "`finalization status` lists those there are"


class _PropertiesUnchanged(ValidatableTableRequirement):
    """Checked by the catalog against the metadata that the commit then replaces."""

    type: Literal["assert-properties"] = "assert-properties"
    expected: dict[str, str | None]

    def validate(self, base_metadata: TableMetadata | None) -> None:  # type: ignore[override]
        properties = base_metadata.properties if base_metadata else {}
        for key, value in self.expected.items():
            if properties.get(key) != value:
                raise CommitFailedException(f"{key} is {properties.get(key)}, no longer {value}")


def to_state(table: str, metadata: TableMetadata) -> TableState:
    """A table's metadata without pyiceberg's types."""
    snapshots = {}
    for snapshot in metadata.snapshots:
        summary = snapshot.summary
        snapshots[snapshot.snapshot_id] = Snapshot(
            snapshot.snapshot_id,
            snapshot.parent_snapshot_id,
            snapshot.timestamp_ms,
            summary.operation.value if summary else "overwrite",
            summary.additional_properties if summary else {},
        )
    heads = {
        name: ref.snapshot_id
        for name, ref in metadata.refs.items()
        if ref.snapshot_ref_type == SnapshotRefType.BRANCH
    }
    schema = metadata.schema()
    columns = {name: str(schema.find_type(name)) for name in schema.column_names}
    return TableState(table, metadata.properties, snapshots, heads, columns)


def _refuse_missing_file(uri: str) -> None:
    parts = urlsplit(uri)
    if not parts.scheme.startswith("sqlite"):
        return
    path = unquote(parts.path[1:])
    if path not in ("", ":memory:") and not Path(path).exists():
        raise CatalogUnreachableError(f"there is no SQLite catalog at {path}")


@contextmanager
def _reaching(catalog: str, table: str | None = None) -> Iterator[None]:
    """Turns the many errors of catalog clients into this package's own, in one line each."""
    try:
        yield
    except (SQLAlchemyError, RESTError, requests.RequestException) as e:
        raise CatalogUnreachableError(f"catalog {catalog} cannot be reached: {_first_line(e)}") from e
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as e:
        if table is None or isinstance(e, ConfigurationError):
            raise
        raise UnreadableTableError(f"the metadata of {table} cannot be read: {_first_line(e)}") from e


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__


def _data_files(table: Table, column: str) -> "Iterator[DataFile]":
    from pyiceberg.io.pyarrow import ArrowScan

    from finalization.scan import DataFile

    metadata, io = table.metadata, table.io
    schema = metadata.schema().select(column)
    committed = {snapshot.snapshot_id: snapshot.timestamp_ms for snapshot in metadata.snapshots}
    entries = table.inspect.entries().select(["snapshot_id", "data_file"]).to_pylist()
    added_by = {entry["data_file"]["file_path"]: entry["snapshot_id"] for entry in entries}

    def read(task: Any) -> list[int | None]:
        rows = ArrowScan(metadata, io, schema, AlwaysTrue()).to_table([task])
        for name in column.split("."):
            rows = (
                rows[name] if name in getattr(rows, "column_names", ()) else rows.combine_chunks().field(name)
            )
        return [None if value is None else value // 1000 for value in rows.cast("int64").to_pylist()]

    for task in table.scan(selected_fields=(column,)).plan_files():
        snapshot_id = added_by.get(task.file.file_path)
        if snapshot_id in committed:
            yield DataFile(snapshot_id, committed[snapshot_id], partial(read, task))
