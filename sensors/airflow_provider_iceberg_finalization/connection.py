"""From an Airflow connection of type `iceberg` to a client of its catalog. Catalog libraries load late."""

from typing import TYPE_CHECKING

from finalization.exceptions import CatalogUnreachableError, ConfigurationError

if TYPE_CHECKING:
    from finalization.catalog import FinalizationClient

DEFAULT_CONNECTION = "iceberg_default"
"""As the Iceberg provider's hook has it."""

CATALOG_NAME = "catalog-name"
"""Key in a connection's extra: the catalog's name, where it is not the connection's id."""


def open_client(iceberg_conn_id: str) -> "FinalizationClient":
    """Opens the connection's catalog as the Iceberg provider's hook does.

    One thing the hook leaves out: in a SQL catalog its name is a part of each table's key, and the hook
    always takes the connection's id. There `catalog-name` in the connection's extra names the catalog, and a
    mistyped path is an error instead of a new empty catalog. Blocks; raises CatalogUnreachableError,
    ConfigurationError, and AirflowNotFoundException for a connection that is not there.
    """
    from airflow.providers.apache.iceberg.hooks.iceberg import IcebergHook
    from pyiceberg.exceptions import RESTError

    from finalization.catalog import FinalizationClient

    hook = IcebergHook(iceberg_conn_id)
    connection = hook.get_connection(iceberg_conn_id)
    properties = {key: str(value) for key, value in (connection.extra_dejson or {}).items()}
    if properties.get("type") == "sql":
        name = properties.pop(CATALOG_NAME, iceberg_conn_id)
        if connection.host:
            properties["uri"] = connection.host
        return FinalizationClient.open(name, properties)
    try:
        return FinalizationClient(hook.catalog)
    except (OSError, RESTError) as e:  # what HTTP clients raise is an OSError
        raise CatalogUnreachableError(f"catalog {iceberg_conn_id} cannot be reached: {e}") from e
    except (ValueError, TypeError) as e:
        raise ConfigurationError(f"catalog {iceberg_conn_id} cannot be opened: {e}") from e
