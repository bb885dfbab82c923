"""Looks at tables of one catalog, reading only metadata that is new."""

from typing import TYPE_CHECKING

from airflow_provider_iceberg_finalization.lookup.location import MISSING, Missing, metadata_location
from airflow_provider_iceberg_finalization.lookup.look import TableLook, look_at, missing
from finalization.exceptions import ConfigurationError, TableMissingError

if TYPE_CHECKING:
    from finalization.catalog import FinalizationClient

Seen = dict[tuple[str, str], tuple[str | Missing, TableLook]]
"""By table and branch: where the metadata lay at the last look, and the look."""


class TableReader:
    """For many threads at many tables, one at each. Blocks. `seen` outlives a client that is opened anew."""

    def __init__(self, client: "FinalizationClient", seen: Seen | None = None) -> None:
        self._client = client
        self._seen: Seen = {} if seen is None else seen

    def look(self, table: str, branch: str) -> TableLook:
        """The table as it is now; the very same object as before if nothing changed.

        Raises CatalogUnreachableError, UnreadableTableError, ConfigurationError; a missing table is a look.
        """
        if "." not in table:
            raise ConfigurationError(f"table is '{table}'; expected its full name, namespace.table")
        location = metadata_location(self._client.catalog, table)
        seen = self._seen.get((table, branch))
        if seen is not None and location is not None and seen[0] == location:
            return seen[1]
        try:
            look = look_at(self._client.state(table), branch)
        except TableMissingError as e:
            look = missing(table, str(e))
            location = MISSING
        if location is not None and (location is MISSING) != look.exists:
            # Asked before reading, so a commit in between only means that the next look reads again.
            self._seen[table, branch] = (location, look)
        return look
