"""Pipelines, messages and tables for the tests that run real jobs."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from confluent_kafka import Producer

from finalization.catalog import open_catalog
from finalization.pipeline import Pipeline, load
from local_stack.process import Child

FIXTURES = Path(__file__).parent / "fixtures"
FINALIZATION = Path(sys.executable).with_name("finalization")
"""The command line, as it is installed beside the interpreter that runs the tests."""


@dataclass
class PipelineCase:
    """A pipeline file in a folder of its own, the job that runs it, and its tables."""

    directory: Path
    settings: dict[str, Any]

    @classmethod
    def create(
        cls,
        directory: Path,
        brokers: str,
        name: str,
        columns: dict[str, str],
        primary_key: list[str],
        event_time: dict[str, str],
        **changes: Any,
    ) -> PipelineCase:
        directory.mkdir(parents=True, exist_ok=True)
        settings = {
            "name": name,
            "kafka": {"brokers": brokers, "topics": [name]},
            "columns": columns,
            "primary-key": primary_key,
            "event-time": event_time,
            "tables": {"cdc": f"lake.{name}_cdc", "base": f"lake.{name}"},
            "catalog": {
                "name": "ice",
                "type": "sql",
                "uri": f"sqlite:///{directory}/catalog.db",
                "warehouse": f"file://{directory}/warehouse",
            },
            "checkpoint": {"interval": "1s", "directory": f"file://{directory}/checkpoints"},
            **changes,
        }
        case = cls(directory, settings)
        case.file.write_text(yaml.safe_dump(settings, sort_keys=False))
        return case

    @property
    def file(self) -> Path:
        return self.directory / "pipeline.yaml"

    @cached_property
    def pipeline(self) -> Pipeline:
        return load(self.file)

    def job(self, *arguments: str) -> Child:
        """The job as a process, not started."""
        command = [FINALIZATION, "run", str(self.file), *arguments]
        return Child(f"job {self.pipeline.name}", command, self.directory / "log" / "job.log")

    def table(self, name: str) -> Any:
        return open_catalog(self.pipeline.catalog).load_table(name)

    def rows(self, name: str) -> list[dict[str, Any]]:
        """All rows of a table; none if it is not there yet."""
        catalog = open_catalog(self.pipeline.catalog)
        if not catalog.table_exists(name):
            return []
        return catalog.load_table(name).scan().to_arrow().to_pylist()

    def count(self, name: str) -> int:
        """How many rows a table holds, from its newest snapshot's summary."""
        catalog = open_catalog(self.pipeline.catalog)
        snapshot = catalog.load_table(name).current_snapshot() if catalog.table_exists(name) else None
        return int(snapshot.summary["total-records"]) if snapshot else 0

    def summaries(self, name: str) -> list[dict[str, str]]:
        """The snapshots' summaries, oldest first."""
        return [dict(s.summary.additional_properties) for s in self.table(name).metadata.snapshots]


def real_messages(*fixtures: str) -> list[dict[str, Any]]:
    """Messages as Debezium wrote them, from the fixtures named, in order."""
    return [m for name in fixtures for m in json.loads((FIXTURES / "debezium" / f"{name}.json").read_text())]


def produce(brokers: str, topic: str, values: list[bytes | None]) -> None:
    """Send values to a topic and wait until all are stored."""
    producer = Producer({"bootstrap.servers": brokers, "enable.idempotence": True, "linger.ms": 20})
    for value in values:
        producer.produce(topic, value=value, on_delivery=_raise)
        producer.poll(0)
    left = producer.flush(60)
    assert left == 0, f"{left} messages were not sent"


def _raise(error: Any, _message: Any) -> None:
    if error is not None:
        raise RuntimeError(str(error))


def change(op: str, lsn: int, row: dict[str, Any], ts_ms: int = 1_357_034_400_000) -> bytes:
    """A change event as Debezium would write it, without schema block."""
    image = {"before": row if op == "d" else None, "after": None if op == "d" else row}
    source = {"connector": "postgresql", "ts_ms": ts_ms, "lsn": lsn, "snapshot": "false"}
    return json.dumps({**image, "source": source, "op": op, "ts_ms": ts_ms, "transaction": None}).encode()
