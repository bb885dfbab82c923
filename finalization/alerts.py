"""Messages about late records, and where they can go."""

import json
import logging
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from finalization.exceptions import ConfigurationError, FinalizationError
from finalization.lateness import Late
from finalization.policy import Policy
from finalization.times import format_instant

logger = logging.getLogger(__name__)

_TIMEOUT_S = 10


class AlertDeliveryError(FinalizationError):
    """A sink did not take an alert; trying again may help."""


@dataclass(frozen=True)
class Alert:
    """One commit brought late records. `id` is the same however often it is sent: to drop repetitions by."""

    table: str
    branch: str
    snapshot_id: int
    committed_at_ms: int
    late: Late

    @property
    def id(self) -> str:
        return f"{self.table}/{self.branch}/{self.snapshot_id}"

    def to_json(self) -> str:
        """Instants are ISO-8601, UTC; `partitions` maps a reopened partition's start to its late records."""
        partitions = self.late.partitions
        by_start: dict[str, int] = {}
        if partitions is not None:
            start = partitions.granularity.start
            by_start = {format_instant(start(i)): count for i, count in sorted(partitions.counts.items())}
        message: dict[str, Any] = {
            "id": self.id,
            "table": self.table,
            "branch": self.branch,
            "snapshot_id": self.snapshot_id,
            "committed_at": format_instant(self.committed_at_ms),
            "late_records": self.late.records,
            "granularity": partitions.granularity.label if partitions else None,
            "partitions": by_start,
            "older_partitions": partitions.older if partitions else 0,
        }
        return json.dumps(message)


class AlertSink(Protocol):
    """Takes one alert. Raises AlertDeliveryError if it was not taken."""

    name: str

    def send(self, alert: Alert) -> None: ...


class LogSink:
    """A warning in the committer's log."""

    name = "log"

    def send(self, alert: Alert) -> None:
        logger.warning("late records: %s", alert.to_json())


class WebhookSink:
    """A JSON POST; only a 2xx answer counts as taken. The header `Idempotency-Key` holds the id."""

    name = "webhook"

    def __init__(self, url: str, authorization: str | None = None) -> None:
        self._url = url
        self._authorization = authorization

    def send(self, alert: Alert) -> None:
        import requests

        headers = {"Content-Type": "application/json", "Idempotency-Key": alert.id}
        if self._authorization:
            headers["Authorization"] = self._authorization
        try:
            answer = requests.post(self._url, data=alert.to_json(), headers=headers, timeout=_TIMEOUT_S)
        except requests.RequestException as e:
            # Not the error's text: it may hold the URL, and the URL may be a secret.
            raise AlertDeliveryError(f"the webhook could not be reached ({type(e).__name__})") from None
        if not answer.ok:
            raise AlertDeliveryError(f"the webhook answered {answer.status_code}")


class KafkaSink:
    """A record keyed by table, acknowledged by all replicas; the header `id` holds the id."""

    name = "kafka"

    def __init__(self, brokers: str, topic: str, properties: Mapping[str, str]) -> None:
        try:
            from confluent_kafka import Producer
        except ImportError:
            raise AlertDeliveryError("the kafka alert sink needs the package confluent-kafka") from None
        self._topic = topic
        self._producer = Producer(
            {
                "message.timeout.ms": _TIMEOUT_S * 1000,
                **properties,
                "bootstrap.servers": brokers,
                "enable.idempotence": True,
            }
        )

    def send(self, alert: Alert) -> None:
        failures: list[str] = []
        self._producer.produce(
            self._topic,
            key=alert.table,
            value=alert.to_json(),
            headers={"id": alert.id},
            on_delivery=lambda error, _: failures.append(str(error)) if error else None,
        )
        if self._producer.flush(_TIMEOUT_S + 5):
            failures.append("no answer in time")
        if failures:
            raise AlertDeliveryError(f"Kafka did not take it: {failures[0]}")


def create_sink(name: str, policy: Policy) -> AlertSink:
    """A sink by its name in `finalization.alert-sinks`. Raises ConfigurationError or AlertDeliveryError."""
    if name == "webhook":
        return WebhookSink(
            resolve(policy.alert_webhook_url or "", "alert-webhook-url"),
            resolve(policy.alert_webhook_authorization or "", "alert-webhook-authorization") or None,
        )
    if name == "kafka":
        given = policy.alert_kafka_properties or {}
        properties = {key: resolve(value, "alert-kafka-properties") for key, value in given.items()}
        return KafkaSink(
            resolve(policy.alert_kafka_brokers or "", "alert-kafka-brokers"),
            policy.alert_kafka_topic or "",
            properties,
        )
    return LogSink()


def resolve(text: str, name: str) -> str:
    """Puts environment variables in place of `${NAME}`. Raises ConfigurationError for one that is not set."""

    def replacement(match: re.Match[str]) -> str:
        value = os.environ.get(match[1])
        if value is None:
            raise ConfigurationError(
                f"finalization.{name} refers to the environment variable {match[1]}; "
                "set it where the committer runs"
            )
        return value

    return re.sub(r"\$\{(\w+)\}", replacement, text)
