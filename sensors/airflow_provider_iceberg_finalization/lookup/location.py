"""Where a table's current metadata lies: a metadata file never changes, so the same place means no news."""

from enum import Enum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.catalog.rest import RestCatalog
    from pyiceberg.catalog.sql import SqlCatalog


class Missing(Enum):
    """The catalog answered that it has no such table."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING

_NOT_FOUND = 404


def metadata_location(catalog: "Catalog", table: str) -> str | Missing | None:
    """Asks without reading the metadata; None where the kind of catalog, or its state, does not tell.

    Never raises: after None the caller loads the table, which then tells what is wrong.
    """
    from pyiceberg.catalog.rest import RestCatalog
    from pyiceberg.catalog.sql import SqlCatalog

    try:
        if isinstance(catalog, SqlCatalog):
            return _in_sql(catalog, table)
        if isinstance(catalog, RestCatalog):
            return _in_rest(catalog, table)
    except Exception:
        return None
    return None


def _in_sql(catalog: "SqlCatalog", table: str) -> str | Missing:
    from pyiceberg.catalog.sql import IcebergTables
    from sqlalchemy import select

    namespace = catalog.namespace_to_string(catalog.namespace_from(table))
    query = select(IcebergTables.metadata_location).where(
        IcebergTables.catalog_name == catalog.name,
        IcebergTables.table_namespace == namespace,
        IcebergTables.table_name == catalog.table_name_from(table),
    )
    with catalog.engine.connect() as connection:
        location: str | None = connection.scalar(query)
    return location or MISSING


def _in_rest(catalog: "RestCatalog", table: str) -> str | Missing | None:
    from pyiceberg.catalog.rest import Endpoints

    # The service sends the metadata along; without the history it is small, and it is not parsed.
    path: dict[str, Any] = catalog._split_identifier_for_path(table)
    url = catalog.url(Endpoints.load_table, prefixed=True, **path)
    response = catalog._session.get(url, params={"snapshots": "refs"})
    if response.status_code == _NOT_FOUND:
        return MISSING
    response.raise_for_status()
    location: str | None = response.json().get("metadata-location")
    return location
