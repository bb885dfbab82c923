"""Kafka Connect (standalone) with Debezium's PostgreSQL connector."""

import json
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from local_stack.exceptions import LocalStackError
from local_stack.java import java_command, write_properties
from local_stack.kafka import Kafka
from local_stack.ports import LOOPBACK, free_port
from local_stack.postgres import Postgres
from local_stack.process import Child
from local_stack.waiting import wait_until

_HEAP_MB = 512
_START_TIMEOUT_S = 120.0
_CONNECTOR_TIMEOUT_S = 90.0


def debezium_source(postgres: Postgres, prefix: str, tables: Sequence[str]) -> dict[str, str]:
    """Settings of a Debezium connector that sends `tables` to topics `<prefix>.<schema>.<table>`.

    `tables` are written `schema.table`. The slot and the publication are named after the prefix, so several
    connectors can read one server.
    """
    return {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "tasks.max": "1",
        "plugin.name": "pgoutput",
        "database.hostname": LOOPBACK,
        "database.port": str(postgres.port),
        "database.user": postgres.user,
        "database.password": "unused",  # the server trusts loopback, but the connector wants a value
        "database.dbname": postgres.database,
        "topic.prefix": prefix,
        "table.include.list": ",".join(tables),
        "slot.name": f"{prefix}_slot",
        "publication.name": f"{prefix}_publication",
        "publication.autocreate.mode": "filtered",
        "provide.transaction.metadata": "true",
        "heartbeat.interval.ms": "2000",
        "decimal.handling.mode": "string",
        "time.precision.mode": "adaptive",
        "snapshot.mode": "initial",
        # By default a TRUNCATE is not told, and nobody would know that the rows are gone.
        "skipped.operations": "none",
        "poll.interval.ms": "50",
    }


class Connect:
    """A worker whose REST interface is at `url`, on the loopback interface. Values are plain JSON."""

    def __init__(self, directory: Path, kafka: Kafka) -> None:
        self.directory = directory
        self.port = free_port()
        self._kafka = kafka
        self._child: Child | None = None

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    def start(self) -> Self:
        """Starts the worker and waits until it answers. Raises LocalStackError if it does not.

        The broker may still be starting: the worker waits for it.
        """
        settings = write_properties(self.directory / "worker.properties", self._settings())
        self._child = Child(
            "Kafka Connect",
            java_command("org.apache.kafka.connect.cli.ConnectStandalone", settings, heap_mb=_HEAP_MB),
            self.directory / "log" / "connect.log",
        ).start()
        try:
            self._child.wait_ready(self._answers, _START_TIMEOUT_S)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        if self._child is not None:
            self._child.stop()

    def register(self, name: str, settings: Mapping[str, str]) -> None:
        """Makes a connector and waits until it and its task run.

        Raises LocalStackError, with the worker's answer or the end of its log, if they do not.
        """
        try:
            self._request("POST", "/connectors", {"name": name, "config": dict(settings)})
            wait_until(lambda: self._runs(name), _CONNECTOR_TIMEOUT_S, f"connector {name} runs")
        except (TimeoutError, urllib.error.HTTPError) as error:
            answer = error.read().decode() if isinstance(error, urllib.error.HTTPError) else ""
            tail = self._child.log_tail() if self._child is not None else ""
            raise LocalStackError(
                f"connector {name} could not be started: {error} {answer}. {tail}"
            ) from error

    def unregister(self, name: str) -> None:
        """Removes a connector."""
        self._request("DELETE", f"/connectors/{name}")

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _answers(self) -> bool:
        try:
            return self._request("GET", "/connectors") is not None
        except OSError:
            return False

    def _runs(self, name: str) -> bool:
        try:
            status = self._request("GET", f"/connectors/{name}/status")
        except urllib.error.HTTPError as error:
            if error.code == 404:  # made, but not yet scheduled
                return False
            raise
        states = [status["connector"]["state"], *(task["state"] for task in status["tasks"])]
        if "FAILED" in states:
            raise LocalStackError(f"connector {name} failed: {json.dumps(status)}")
        return len(states) > 1 and set(states) == {"RUNNING"}

    def _request(self, method: str, path: str, body: object = None) -> Any:
        request = urllib.request.Request(
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            content = answer.read()
        return json.loads(content) if content else None

    def _settings(self) -> dict[str, str]:
        json_converter = "org.apache.kafka.connect.json.JsonConverter"
        return {
            "bootstrap.servers": self._kafka.bootstrap,
            "listeners": self.url,
            "key.converter": json_converter,
            "value.converter": json_converter,
            "key.converter.schemas.enable": "false",
            "value.converter.schemas.enable": "false",
            "offset.storage.file.filename": str(self.directory / "connect.offsets"),
            "offset.flush.interval.ms": "1000",
            "plugin.discovery": "only_scan",
        }
