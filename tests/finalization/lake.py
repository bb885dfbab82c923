"""Tables with facts in a real catalog."""

from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.table import Table

from finalization.catalog import FinalizationClient
from finalization.catalog_config import CatalogConfig
from tests.finalization.histories import summary_of


@dataclass
class Lake:
    config: CatalogConfig
    client: FinalizationClient
    schema: Schema

    @property
    def options(self) -> list[str]:
        """As the command line names this catalog."""
        properties = self.config.pyiceberg_properties()
        flags = [flag for key, text in properties.items() for flag in ("--property", f"{key}={text}")]
        return ["--catalog", self.config.name, *flags]

    def create(self, name: str = "lake.flights_cdc", **policy: str) -> Table:
        properties = {"finalization.event-time-column": "_event_time"}
        properties |= {f"finalization.{key.replace('_', '-')}": text for key, text in policy.items()}
        return self.client.catalog.create_table(name, self.schema, properties=properties)

    def append(self, table: Table, times: list[int], extra: dict[str, str] | None = None) -> None:
        """A real append of one row for each time, with facts as the sink writes them."""
        rows = [{"id": i, "_event_time": datetime.fromtimestamp(t / 1000, UTC)} for i, t in enumerate(times)]
        data = pa.Table.from_pylist(rows, schema=table.schema().as_arrow())
        table.refresh().append(data, snapshot_properties={**summary_of(times), **(extra or {})})
