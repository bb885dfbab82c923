"""One run of the demo from the first server to the last check."""

import time
from collections.abc import Callable
from contextlib import ExitStack

from rich.console import Console

from demo import checks, database, jobs
from demo.checks import Check
from demo.consumer import Report
from demo.display import Display, display_for
from demo.flights import changes_of, load_flights
from demo.lake import UPSERTED_SNAPSHOT, Lake, row_count, total
from demo.observer import Observer
from demo.player import Player, sender
from demo.report import print_addresses, print_checks, print_summary
from demo.settings import PREFIX, TOPIC, Settings, write_pipeline
from demo.topic import TopicReader
from local_stack.exceptions import LocalStackError
from local_stack.process import Child
from local_stack.stack import Stack

_LOOK_EVERY_S = 0.5
_DRAIN_TIMEOUT_S = 180.0
_DRAIN_CHECKPOINTS = 3


class Demo:
    """Use it in a `with` block: on leaving it, every process has ended."""

    def __init__(self, settings: Settings, console: Console) -> None:
        self._settings = settings
        self._console = console
        self._display: Display = display_for(console)
        self._running = ExitStack()
        self._children: list[Child] = []
        self._stack = Stack(settings.directory)

    def __enter__(self) -> "Demo":
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def run(self) -> bool:
        """Plays the days, waits until all has arrived, checks. Returns whether every check passed."""
        say = self._display.say
        started = time.monotonic()
        self._set_up(say)
        say(f"All parts run ({time.monotonic() - started:.0f} s). The flights begin.")
        with self._display:
            self._play()
            self._drain()
        results = self._check()
        print_summary(self._console, self._observer.look(), time.monotonic() - started)
        print_checks(self._console, results)
        return all(result.passed for result in results)

    def print_addresses(self) -> None:
        """Says where everything is while it still runs."""
        print_addresses(self._console, self._stack, self._web_page, self._settings)

    def _set_up(self, say: Callable[[str], None]) -> None:
        self._pipeline = write_pipeline(self._settings, self._stack.kafka.bootstrap)
        self._lake = Lake(self._pipeline)
        say("Starting the Spark upsert and a consumer, both waiting for tables that are not there yet")
        for child in (jobs.upsert_job(self._settings), jobs.consumer(self._settings)):
            self._start(child)
        say("Starting PostgreSQL, Kafka and Kafka Connect with Debezium")
        self._running.enter_context(self._stack)
        self._connection = self._running.enter_context(self._stack.postgres.connect())
        database.create_table(self._connection)
        self._stack.kafka.create_topic(TOPIC)
        say("Starting the Flink job")
        flink = jobs.FlinkJob(self._settings)
        self._start(flink.child)
        self._stack.capture(PREFIX, [f"{database.SCHEMA}.{database.TABLE}"])
        self._web_page = flink.wait_until_running()
        say(f"Flink's web page is {self._web_page}")
        flights = changes_of(load_flights(self._settings.days))
        send_bad = sender(self._stack.kafka.bootstrap, TOPIC)
        self._player = Player(flights, self._settings.speed, self._connection, send_bad)
        self._running.callback(self._player.stop)
        self._topic = TopicReader(self._stack.kafka.bootstrap, TOPIC)
        self._running.callback(self._topic.close)
        self._observer = Observer(self._settings, self._player, self._topic, self._lake)

    def _start(self, child: Child) -> None:
        self._children.append(self._running.enter_context(child))

    def _play(self) -> None:
        self._player.start()
        while not self._player.finished:
            self._look()

    def _drain(self) -> None:
        """Waits until each change event is in the CDC table and upserted, each bad message a dead letter."""
        checkpoints_s = _DRAIN_CHECKPOINTS * self._settings.checkpoint_ms / 1000
        deadline = time.monotonic() + _DRAIN_TIMEOUT_S + checkpoints_s
        while not self._all_arrived() or not self._consumer_done():
            if time.monotonic() > deadline:
                self._display.say("Not everything arrived in time; the checks say what is missing.")
                return
            self._look()

    def _look(self) -> None:
        self._display.show(self._observer.look())
        self._require_children()
        time.sleep(_LOOK_EVERY_S)

    def _require_children(self) -> None:
        for child in self._children:
            if not child.running and child.returncode != 0:
                raise LocalStackError(f"{child.name} ended with code {child.returncode}. {child.log_tail()}")

    def _all_arrived(self) -> bool:
        counts = self._topic.read()
        tables = self._pipeline.tables
        base, cdc, dead = (self._lake.table(name) for name in (tables.base, tables.cdc, tables.dead_letters))
        if base is None or cdc is None or dead is None or UPSERTED_SNAPSHOT not in base.properties:
            return False
        upserted = cdc.snapshot_by_id(int(base.properties[UPSERTED_SNAPSHOT]))
        return (
            counts.changes == self._player.total
            and row_count(dead) == counts.bad == self._player.progress.bad_messages
            and upserted is not None
            and total(upserted, "total-records") == counts.changes
        )

    def _consumer_done(self) -> bool:
        return Report.load(self._settings.consumer_report) is not None

    def _check(self) -> list[Check]:
        tables = self._pipeline.tables
        base, cdc, dead = (self._lake.table(name) for name in (tables.base, tables.cdc, tables.dead_letters))
        if base is None or cdc is None or dead is None:
            return [Check("all tables exist", False, "a table is missing")]
        report = Report.load(self._settings.consumer_report)
        return [
            checks.base_equals_database(database.rows(self._connection), base),
            checks.every_event_arrived_once(self._topic.read(), cdc, dead),
            checks.base_never_ahead(base, cdc),
            checks.every_commit_has_facts(cdc),
            checks.consumer_read_complete_hour(report, self._settings.consumer_hour, base, cdc),
        ]
