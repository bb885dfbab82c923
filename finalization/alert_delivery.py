"""Delivers alerts beside the commit path: a slow or dead receiver never delays a commit."""

import atexit
import logging
import queue
import threading
from collections.abc import Callable
from time import monotonic

from finalization.alerts import Alert, AlertDeliveryError, AlertSink, create_sink
from finalization.exceptions import ConfigurationError
from finalization.policy import Policy

logger = logging.getLogger(__name__)

_QUEUE_SIZE = 1000
_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 60.0
_GIVE_UP_AFTER_S = 3600.0
_LAST_CHANCE_S = 10.0


class AlertDelivery:
    """One daemon thread that sends alerts in order and repeats each, with growing pauses, until it is taken.

    An alert that nobody takes for an hour, or that finds the queue full, is written to the log as an error.
    The queue lives in memory: after a crash the processor's start-up call hands recent alerts over again,
    so each is sent at least once.
    """

    def __init__(
        self,
        make_sink: Callable[[str, Policy], AlertSink] = create_sink,
        first_pause_s: float = _FIRST_PAUSE_S,
        give_up_after_s: float = _GIVE_UP_AFTER_S,
    ) -> None:
        self._make_sink = make_sink
        self._first_pause_s = first_pause_s
        self._give_up_after_s = give_up_after_s
        self._queue: queue.Queue[tuple[Alert, str, Policy]] = queue.Queue(_QUEUE_SIZE)
        self._sinks: dict[tuple[object, ...], AlertSink] = {}
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def submit(self, alert: Alert, policy: Policy) -> None:
        """Hands an alert to each of the policy's sinks; returns at once."""
        for name in policy.alert_sinks:
            if name == "log":  # cannot fail: no need to wait for it
                self._sink(name, policy).send(alert)
                continue
            self._start()
            try:
                self._queue.put_nowait((alert, name, policy))
            except queue.Full:
                logger.error("alert lost, %d are waiting already: %s", _QUEUE_SIZE, alert.to_json())

    def close(self, timeout_s: float = _LAST_CHANCE_S) -> None:
        """Gives waiting alerts a last chance: each is tried once more, for at most `timeout_s` in all."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join(timeout_s)

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="finalization-alerts", daemon=True)
            self._thread.start()
            atexit.register(self.close)

    def _run(self) -> None:
        while not (self._closing.is_set() and self._queue.empty()):
            try:
                alert, name, policy = self._queue.get(timeout=0.2)
            except queue.Empty:
                continue
            self._deliver(alert, name, policy)

    def _deliver(self, alert: Alert, name: str, policy: Policy) -> None:
        pause = self._first_pause_s
        deadline = monotonic() + self._give_up_after_s
        while True:
            try:
                self._sink(name, policy).send(alert)
                return
            except (AlertDeliveryError, ConfigurationError) as e:
                problem = str(e)
            except Exception as e:  # an alert must not end the thread that sends the next ones
                problem = f"{type(e).__name__}: {e}"
            if self._closing.is_set() or monotonic() + pause > deadline:
                logger.error("alert lost, %s: %s: %s", name, problem, alert.to_json())
                return
            logger.warning("alert %s waits %.0f s for %s: %s", alert.id, pause, name, problem)
            self._closing.wait(pause)
            pause = min(pause * 2, _LONGEST_PAUSE_S)

    def _sink(self, name: str, policy: Policy) -> AlertSink:
        key = (
            name,
            policy.alert_webhook_url,
            policy.alert_webhook_authorization,
            policy.alert_kafka_brokers,
            policy.alert_kafka_topic,
            tuple(sorted((policy.alert_kafka_properties or {}).items())),
        )
        if key not in self._sinks:
            self._sinks[key] = self._make_sink(name, policy)
        return self._sinks[key]
