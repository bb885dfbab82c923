"""One Kafka broker (KRaft: broker and controller in one process) from plain jars."""

import base64
import subprocess
import uuid
from pathlib import Path
from typing import Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from local_stack.exceptions import LocalStackError
from local_stack.java import java_command, write_properties
from local_stack.ports import LOOPBACK, free_port
from local_stack.process import Child

_HEAP_MB = 512
_START_TIMEOUT_S = 90.0


class Kafka:
    """A broker on the loopback interface; topics are made on first use, with one partition."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port = free_port()
        self._controller_port = free_port()
        self._child: Child | None = None

    @property
    def bootstrap(self) -> str:
        return f"{LOOPBACK}:{self.port}"

    def start(self) -> Self:
        """Starts the broker and waits until it answers. Raises LocalStackError if it does not."""
        settings = write_properties(self.directory / "server.properties", self._settings())
        if not (self.directory / "data" / "meta.properties").exists():
            self._format(settings)
        self._child = Child(
            "Kafka",
            java_command("kafka.Kafka", settings, heap_mb=_HEAP_MB),
            self.directory / "log" / "kafka.log",
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

    def create_topic(self, topic: str, partitions: int = 1) -> None:
        """Makes a topic; raises KafkaException if it is there already."""
        admin = self._admin()  # it must live until the answer is here
        admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(30)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _admin(self) -> AdminClient:
        # Librdkafka prints each refused connection while the broker starts; the wait's own error says enough.
        return AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})

    def _answers(self) -> bool:
        try:
            return bool(self._admin().list_topics(timeout=2).brokers)
        except KafkaException:
            return False

    def _format(self, settings: Path) -> None:
        arguments = ("format", "--standalone", f"--cluster-id={_cluster_id()}", "-c", settings)
        command = java_command("kafka.tools.StorageTool", *arguments, heap_mb=_HEAP_MB)
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise LocalStackError(
                f"Kafka's storage could not be formatted: {done.stdout}{done.stderr}".strip()
            )

    def _settings(self) -> dict[str, str]:
        listeners = f"PLAINTEXT://{self.bootstrap},CONTROLLER://{LOOPBACK}:{self._controller_port}"
        return {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.bootstrap.servers": f"{LOOPBACK}:{self._controller_port}",
            "listeners": listeners,
            "advertised.listeners": listeners,
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": str(self.directory / "data"),
            "num.partitions": "1",
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            "num.network.threads": "2",
            "num.io.threads": "2",
        }


def _cluster_id() -> str:
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
