"""One catalog, told to three engines: pyiceberg, Flink and Spark. Pure text; nothing is opened here."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from finalization.exceptions import ConfigurationError

SQLITE_BUSY_MS = 30_000
"""How long a writer waits for another one's lock on a SQLite catalog."""

_JDBC_DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql", "postgres": "postgresql", "mysql": "mysql"}


@dataclass(frozen=True)
class CatalogConfig:
    """`name` must be the same wherever the catalog is used: in SQL catalogs it is part of each table's key.

    `uri` of type `sql` is SQLAlchemy's form (`sqlite:////abs/catalog.db`, `postgresql+psycopg2://user:pw@host/db`);
    of type `rest` it is the service's address. `properties` go to all engines as they are.
    """

    name: str
    type: Literal["sql", "rest"]
    uri: str = field(repr=False)
    warehouse: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)

    # Read by pydantic when a pipeline file is loaded: an unknown key is an error.
    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    def pyiceberg_properties(self) -> dict[str, str]:
        """For `pyiceberg.catalog.load_catalog(name, **properties)`."""
        uri = self.uri
        if self.type == "sql" and uri.startswith("sqlite:") and "?" not in uri:
            uri += f"?timeout={SQLITE_BUSY_MS // 1000}"
        return {"type": self.type, "uri": uri, **self._warehouse(), **self.properties}

    def flink_properties(self) -> dict[str, str]:
        """For `CREATE CATALOG … WITH (…)`, without `type`."""
        if self.type == "rest":
            return {"catalog-type": "rest", "uri": self.uri, **self._warehouse(), **self.properties}
        return {
            "catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
            **self._jdbc(),
            **self._warehouse(),
            **self.properties,
        }

    def spark_properties(self) -> dict[str, str]:
        """For a Spark session: full keys. The cache is off: each statement sees the newest metadata."""
        prefix = f"spark.sql.catalog.{self.name}"
        if self.type == "rest":
            kind = {"type": "rest", "uri": self.uri}
        else:
            kind = {"catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog", **self._jdbc()}
        settings = {"cache-enabled": "false", **kind, **self._warehouse(), **self.properties}
        return {
            prefix: "org.apache.iceberg.spark.SparkCatalog",
            **{f"{prefix}.{key}": text for key, text in settings.items()},
        }

    def _warehouse(self) -> dict[str, str]:
        return {"warehouse": self.warehouse} if self.warehouse else {}

    def _jdbc(self) -> dict[str, str]:
        parts = urlsplit(self.uri)
        driver = _JDBC_DRIVERS.get(parts.scheme.split("+")[0])
        if driver is None:
            raise ConfigurationError.of(
                "catalog.uri", parts.scheme + ":…", "sqlite:, postgresql: or mysql: for a catalog of type sql"
            )
        query = dict(parse_qsl(parts.query))
        if driver == "sqlite":
            # SQLAlchemy's form has four slashes before an absolute path; `timeout` is Python's own setting.
            query.pop("timeout", None)
            query = {"busy_timeout": str(SQLITE_BUSY_MS), "journal_mode": "WAL", **query}
            return {"uri": f"jdbc:sqlite:{parts.path[1:]}?{urlencode(query)}", "jdbc.schema-version": "V1"}
        host = f"{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}"
        login = {"jdbc.user": parts.username, "jdbc.password": parts.password}
        return {
            "uri": f"jdbc:{driver}://{host}{parts.path}" + (f"?{urlencode(query)}" if query else ""),
            "jdbc.schema-version": "V1",
            **{key: unquote(text) for key, text in login.items() if text},
        }
