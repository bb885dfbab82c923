"""The servers around the jobs, as one thing."""

from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Self

from local_stack.connect import Connect, debezium_source
from local_stack.kafka import Kafka
from local_stack.postgres import Postgres


class Stack:
    """PostgreSQL, Kafka, and Kafka Connect with Debezium, all on free ports of the loopback interface.

    Files and logs are under `directory`. Several stacks can run side by side.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.postgres = Postgres(directory / "postgres")
        self.kafka = Kafka(directory / "kafka")
        self.connect = Connect(directory / "connect", self.kafka)
        self._parts = (self.postgres, self.kafka, self.connect)

    def start(self) -> Self:
        """Starts all parts side by side. If one fails, the others are stopped and its error is raised."""
        with ThreadPoolExecutor(len(self._parts)) as pool:
            try:
                starts = [pool.submit(part.start) for part in self._parts]
                for start in wait(starts, return_when=FIRST_EXCEPTION).done:
                    start.result()
            except BaseException:
                # Ends the waits for what will never be ready; once more for what was just being made.
                self.stop()
                pool.shutdown()
                self.stop()
                raise
        return self

    def stop(self) -> None:
        """Ends all parts, readers before what they read."""
        for part in reversed(self._parts):
            part.stop()

    def capture(self, prefix: str, tables: Sequence[str]) -> None:
        """Lets Debezium send changes of `tables` (`schema.table`) to topics `<prefix>.<schema>.<table>`."""
        self.connect.register(prefix, debezium_source(self.postgres, prefix, tables))

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()
