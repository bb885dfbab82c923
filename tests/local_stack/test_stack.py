import json
import socket
from contextlib import ExitStack

import psutil
import pytest
from confluent_kafka import Consumer

from local_stack.connect import debezium_source
from local_stack.exceptions import LocalStackError
from local_stack.ports import LOOPBACK, free_port
from local_stack.stack import Stack
from local_stack.waiting import wait_until

pytestmark = pytest.mark.integration


def first_events(stack: Stack, topic: str, count: int) -> list[dict]:
    """Reads the first `count` values of a topic."""
    settings = {
        "bootstrap.servers": stack.kafka.bootstrap,
        "group.id": f"{topic}-{count}",  # each call reads from the beginning
        "auto.offset.reset": "earliest",
    }
    consumer = Consumer(settings)
    consumer.subscribe([topic])
    events: list[dict] = []

    def enough() -> bool:
        message = consumer.poll(0.2)
        if message is not None and not message.error():
            events.append(json.loads(message.value()))
        return len(events) >= count

    try:
        wait_until(enough, 60, f"{count} events are in {topic}", interval_s=0)
    finally:
        consumer.close()
    return events


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((LOOPBACK, port)) == 0


def test_a_row_of_postgresql_arrives_as_a_debezium_event_in_kafka(stack):
    with stack.postgres.connect() as connection:
        connection.execute("CREATE TABLE arrives (id bigint PRIMARY KEY, name text)")
        connection.execute("INSERT INTO arrives VALUES (1, 'before the connector')")
        stack.capture("arrives", ["public.arrives"])
        connection.execute("UPDATE arrives SET name = 'after it' WHERE id = 1")
        first_events(stack, "arrives.public.arrives", 2)  # a snapshot that is not read yet would be empty
        connection.execute("TRUNCATE arrives")
    snapshot, update, truncate = first_events(stack, "arrives.public.arrives", 3)
    assert (snapshot["op"], snapshot["after"]) == ("r", {"id": 1, "name": "before the connector"})
    assert (update["op"], update["after"]) == ("u", {"id": 1, "name": "after it"})
    assert update["transaction"]["total_order"] == 1
    assert (truncate["op"], truncate["before"], truncate["after"]) == ("t", None, None)
    assert truncate["source"]["lsn"] > update["source"]["lsn"]


def test_a_connector_that_cannot_start_is_an_error_with_the_reason(stack):
    unreachable = {
        **debezium_source(stack.postgres, "lost", ["public.lost"]),
        "database.port": str(free_port()),
    }
    with pytest.raises(LocalStackError, match=r"(?s)connector lost could not be started.*refused"):
        stack.connect.register("lost", unreachable)


def test_two_stacks_run_side_by_side_and_stop_without_leaving_a_process(stack, tmp_path):
    with stack.postgres.connect() as connection:
        connection.execute("CREATE TABLE only_here (id bigint PRIMARY KEY)")
    before = set(psutil.Process().children(recursive=True))
    with Stack(tmp_path) as other:
        ports = (other.postgres.port, other.kafka.port, other.connect.port)
        assert all(listens(port) for port in ports)
        with other.postgres.connect() as connection:
            assert connection.execute("SELECT to_regclass('only_here')").fetchone() == (None,)
        started = set(psutil.Process().children(recursive=True)) - before
        assert len(started) >= 6  # three servers and their guards
    assert not [process for process in started if process.is_running()]
    assert not any(listens(port) for port in ports)


def test_a_part_that_cannot_start_takes_the_others_with_it(tmp_path):
    before = set(psutil.Process().children(recursive=True))
    stack = Stack(tmp_path)
    with ExitStack() as cleanup:
        squatter = cleanup.enter_context(socket.socket())
        squatter.bind((LOOPBACK, stack.kafka.port))
        squatter.listen()
        with pytest.raises(LocalStackError, match="Kafka ended with code"):
            stack.start()
    assert set(psutil.Process().children(recursive=True)) <= before
