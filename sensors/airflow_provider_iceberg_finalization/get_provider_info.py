"""What Airflow's providers manager reads."""

from typing import Any

_PACKAGE = "airflow_provider_iceberg_finalization"


def get_provider_info() -> dict[str, Any]:
    """In the form of Airflow's provider schema."""
    name = "Iceberg finalization"
    return {
        "package-name": "airflow-provider-iceberg-finalization",
        "name": name,
        "description": "Waits for final partitions of streaming Apache Iceberg tables.",
        "integrations": [
            {
                "integration-name": name,
                "external-doc-url": "https://iceberg.apache.org/",
                "tags": ["software"],
            }
        ],
        "sensors": [{"integration-name": name, "python-modules": [f"{_PACKAGE}.sensors.finalization"]}],
        "triggers": [
            {
                "integration-name": name,
                "python-modules": [
                    f"{_PACKAGE}.triggers.finalization",
                    f"{_PACKAGE}.triggers.late_data",
                    f"{_PACKAGE}.triggers.partitions",
                ],
            }
        ],
    }
