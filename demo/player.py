"""Plays the changes into PostgreSQL at a multiple of real time."""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from confluent_kafka import Producer

from demo import database
from demo.flights import Change

_TICK_S = 0.05

# Put straight into the topic, as a broken producer would: not JSON, cut off, JSON without the envelope.
BAD_MESSAGES = (
    b"this is not JSON",
    b'{"before": null, "after": {"id": 1, "carrier": "UA"',
    b'{"hello": "world"}',
)


@dataclass(frozen=True)
class Progress:
    """How far the player is: the data's clock (UTC) and the changes and bad messages made."""

    clock: datetime
    changes: int
    bad_messages: int


class Player:
    """Applies the changes in a thread of its own, `speed` seconds of data in a second.

    The bad messages are spread evenly over the changes.
    """

    def __init__(
        self,
        changes: Sequence[Change],
        speed: float,
        connection: database.Connection,
        send_bad: Callable[[bytes], None],
    ) -> None:
        if not changes:
            raise ValueError("there are no changes to play")
        self.start_of_data = changes[0].at.replace(minute=0, second=0)
        self.end_of_data = changes[-1].at
        self.total = len(changes)
        self._waiting = deque(changes)
        self._bad = deque(BAD_MESSAGES)
        self._speed = speed
        self._connection = connection
        self._send_bad = send_bad
        self._progress = Progress(self.start_of_data, 0, 0)
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="player", daemon=True)

    @property
    def progress(self) -> Progress:
        """The progress so far; raises the error that ended the thread, if one did."""
        if self._error is not None:
            raise self._error
        return self._progress

    @property
    def finished(self) -> bool:
        return self.progress.changes == self.total

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread, also before all changes are made."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            started = time.monotonic()
            while self._waiting and not self._stop.wait(_TICK_S):
                elapsed = timedelta(seconds=(time.monotonic() - started) * self._speed)
                self._advance(min(self.start_of_data + elapsed, self.end_of_data))
        except BaseException as error:
            self._error = error

    def _advance(self, clock: datetime) -> None:
        due: list[Change] = []
        while self._waiting and self._waiting[0].at <= clock:
            due.append(self._waiting.popleft())
        if due:
            database.apply(self._connection, due)
        made = self.total - len(self._waiting)
        while self._bad and made * (len(BAD_MESSAGES) + 1) >= self.total * (
            len(BAD_MESSAGES) + 1 - len(self._bad)
        ):
            self._send_bad(self._bad.popleft())
        self._progress = Progress(clock, made, len(BAD_MESSAGES) - len(self._bad))


def sender(bootstrap: str, topic: str) -> Callable[[bytes], None]:
    """Returns a function that puts a value into the topic and returns once the broker has it."""
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})

    def send(value: bytes) -> None:
        producer.produce(topic, value)
        if producer.flush(30):
            raise TimeoutError(f"the broker {bootstrap} did not take a message for {topic}")

    return send
