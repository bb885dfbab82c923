import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from finalization.alert_delivery import AlertDelivery
from finalization.alerts import Alert, AlertDeliveryError, WebhookSink, create_sink, resolve
from finalization.exceptions import ConfigurationError
from finalization.facts import Partitions
from finalization.lateness import Late
from finalization.policy import Policy
from local_stack.waiting import wait_until
from tests.finalization.histories import HOUR, HOURLY, START

ALERT = Alert("lake.f", "main", 7, START, Late(5, Partitions(HOURLY, {START // HOUR: 3}, 2)))


class Receiver(BaseHTTPRequestHandler):
    answers: list[int]
    received: list[tuple[dict, dict]]

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.received.append((body, dict(self.headers)))
        self.send_response(self.answers.pop(0) if self.answers else 204)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def receiver():
    handler = type("Handler", (Receiver,), {"answers": [], "received": []})
    server = HTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    handler.url = f"http://127.0.0.1:{server.server_port}/hook"
    yield handler
    server.shutdown()
    thread.join()
    server.server_close()


def webhook_policy(**properties: str) -> Policy:
    return Policy.from_properties(
        {f"finalization.alert-{key.replace('_', '-')}": v for key, v in properties.items()}
    )


def test_an_alert_tells_table_partitions_counts_and_snapshot():
    assert json.loads(ALERT.to_json()) == {
        "id": "lake.f/main/7",
        "table": "lake.f",
        "branch": "main",
        "snapshot_id": 7,
        "committed_at": "2013-01-01T10:00:00Z",
        "late_records": 5,
        "granularity": "hour",
        "partitions": {"2013-01-01T10:00:00Z": 3},
        "older_partitions": 2,
    }


def test_a_webhook_is_repeated_until_it_is_taken(receiver):
    receiver.answers += [500, 429]
    delivery = AlertDelivery(first_pause_s=0.01)
    delivery.submit(ALERT, webhook_policy(sinks="webhook", webhook_url=receiver.url))
    wait_until(lambda: len(receiver.received) == 3, 10, "three attempts", interval_s=0.02)
    assert {headers["Idempotency-Key"] for _, headers in receiver.received} == {ALERT.id}
    delivery.close(5)


def test_the_authorization_is_resolved_where_it_is_sent(receiver, monkeypatch):
    monkeypatch.setenv("ALERT_TOKEN", "s3cret")
    policy = webhook_policy(
        sinks="webhook", webhook_url=receiver.url, webhook_authorization="Bearer ${ALERT_TOKEN}"
    )
    create_sink("webhook", policy).send(ALERT)
    assert receiver.received[0][1]["Authorization"] == "Bearer s3cret"


def test_a_dead_webhook_is_an_error_that_does_not_show_the_address():
    with pytest.raises(AlertDeliveryError) as caught:
        WebhookSink("http://127.0.0.1:1/secret-path").send(ALERT)
    assert "secret-path" not in str(caught.value)


def test_an_alert_nobody_takes_is_kept_in_the_log(caplog):
    delivery = AlertDelivery(first_pause_s=0.01, give_up_after_s=0)
    delivery.submit(ALERT, webhook_policy(sinks="webhook", webhook_url="http://127.0.0.1:1/"))
    wait_until(lambda: "alert lost" in caplog.text, 10, "the error", interval_s=0.02)
    assert ALERT.to_json() in caplog.text
    delivery.close(5)


def test_closing_gives_waiting_alerts_a_last_chance(receiver):
    delivery = AlertDelivery()
    for _ in range(5):
        delivery.submit(ALERT, webhook_policy(sinks="webhook", webhook_url=receiver.url))
    delivery.close(10)
    assert len(receiver.received) == 5


def test_submitting_does_not_wait_for_the_receiver():
    release = threading.Event()

    class Stuck:
        name = "webhook"

        def send(self, alert):
            release.wait(10)

    delivery = AlertDelivery(make_sink=lambda name, policy: Stuck())
    for _ in range(10):
        delivery.submit(ALERT, webhook_policy(sinks="webhook", webhook_url="http://x/"))
    release.set()
    delivery.close(5)


def test_the_log_sink_warns(caplog):
    AlertDelivery().submit(ALERT, Policy())
    assert "lake.f/main/7" in caplog.text


def test_an_unset_variable_is_named():
    with pytest.raises(ConfigurationError, match=r"finalization\.alert-webhook-url .* NO_SUCH_VARIABLE"):
        resolve("${NO_SUCH_VARIABLE}", "alert-webhook-url")
