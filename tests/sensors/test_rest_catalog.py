"""Looks at a REST catalog, by a connection as the Iceberg provider defines it."""

import json
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import urlsplit

import pytest

from airflow_provider_iceberg_finalization.connection import open_client
from airflow_provider_iceberg_finalization.lookup.reader import TableReader
from finalization.exceptions import CatalogUnreachableError
from finalization.times import parse_instant
from tests.sensors.lake import FLIGHTS, SensorLake

TABLE = "/v1/namespaces/lake/tables/"


class Service:
    """The part of the REST protocol that readers need, over the tables of a lake."""

    def __init__(self, lake: SensorLake) -> None:
        self.asked: Counter[str] = Counter()
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                status, body = service.answer(lake, self.path)
                content = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, lake: SensorLake, path: str):
        parts = urlsplit(path)
        if parts.path == "/v1/config":
            return 200, {"defaults": {}, "overrides": {}}
        if parts.path.startswith(TABLE):
            self.asked[parts.query or "all"] += 1
            name = f"lake.{parts.path.removeprefix(TABLE)}"
            if self.failing:
                return 503, {"error": {"message": "busy", "type": "Busy", "code": 503}}
            if not lake.client.catalog.table_exists(name):
                return 404, {"error": {"message": "none", "type": "NoSuchTableException", "code": 404}}
            table = lake.client.catalog.load_table(name)
            metadata = json.loads(table.metadata.model_dump_json())
            return 200, {"metadata-location": table.metadata_location, "metadata": metadata, "config": {}}
        return 200, {"namespaces": [], "identifiers": []}

    failing = False


@pytest.fixture
def service(lake, monkeypatch):
    service = Service(lake)
    connection = {
        "conn_type": "iceberg",
        "host": service.url,
        "extra": {"py-io-impl": "pyiceberg.io.fsspec.FsspecFileIO"},
    }
    monkeypatch.setenv("AIRFLOW_CONN_REST", json.dumps(connection))
    yield service
    service.server.shutdown()
    service.server.server_close()


def test_unchanged_metadata_is_asked_for_without_its_history(lake, service):
    lake.create(watermark="2013-01-01T09:00:00Z")
    reader = TableReader(open_client("rest"))
    first = reader.look(FLIGHTS, "main")
    assert reader.look(FLIGHTS, "main") is first
    assert reader.look(FLIGHTS, "main") is first
    assert service.asked == {"snapshots=refs": 3, "all": 1}
    lake.set_watermark("2013-01-01T10:00:00Z")
    assert reader.look(FLIGHTS, "main").watermark_ms == parse_instant("2013-01-01T10:00Z")
    assert service.asked["all"] == 2


def test_a_missing_table_is_not_yet(service):
    reader = TableReader(open_client("rest"))
    first = reader.look(FLIGHTS, "main")
    assert not first.exists
    assert reader.look(FLIGHTS, "main") is first


def test_a_service_that_fails_is_unreachable_not_empty(lake, service):
    lake.create(watermark="2013-01-01T09:00:00Z")
    reader = TableReader(open_client("rest"))
    reader.look(FLIGHTS, "main")
    service.failing = True
    with pytest.raises(CatalogUnreachableError):
        reader.look(FLIGHTS, "main")
