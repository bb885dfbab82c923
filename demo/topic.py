"""What is in the Kafka topic, counted by reading it."""

import json
from dataclasses import dataclass, replace
from typing import Any

from confluent_kafka import Consumer, TopicPartition

_OPERATIONS = frozenset("cudr")
_BATCH = 10_000


@dataclass(frozen=True)
class Counts:
    """Messages by kind: change events, tombstones (no value, after a delete), and those that are neither."""

    changes: int = 0
    tombstones: int = 0
    bad: int = 0

    @property
    def messages(self) -> int:
        return self.changes + self.tombstones + self.bad


class TopicReader:
    """Reads the one partition of a topic from its beginning, independently of the job."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "demo-counter",
                "enable.auto.commit": False,
                "log_level": 0,
            }
        )
        self._consumer.assign([TopicPartition(topic, 0, 0)])
        self._counts = Counts()

    def read(self) -> Counts:
        """Reads what has come since the last call and returns the counts of all."""
        while messages := self._consumer.consume(_BATCH, timeout=0.05):
            for message in messages:
                if message.error() is None:
                    kind = kind_of(message.value())
                    self._counts = replace(self._counts, **{kind: getattr(self._counts, kind) + 1})
        return self._counts

    def close(self) -> None:
        self._consumer.close()


def kind_of(value: bytes | None) -> str:
    """Returns `changes`, `tombstones` or `bad`."""
    if value is None:
        return "tombstones"
    try:
        event: Any = json.loads(value)
    except ValueError:
        return "bad"
    is_change = isinstance(event, dict) and event.get("op") in _OPERATIONS and "after" in event
    return "changes" if is_change else "bad"
