import json

import pytest
from confluent_kafka import Consumer

from finalization.alerts import Alert, AlertDeliveryError, create_sink
from finalization.facts import Partitions
from finalization.lateness import Late
from finalization.policy import Policy
from local_stack.ports import free_port
from local_stack.stack import Stack
from local_stack.waiting import wait_until
from tests.finalization.histories import HOUR, HOURLY, START

ALERT = Alert("lake.f", "main", 7, START, Late(3, Partitions(HOURLY, {START // HOUR: 3})))


def policy(brokers: str, properties: str = "acks=all") -> Policy:
    return Policy.from_properties(
        {
            "finalization.alert-sinks": "kafka",
            "finalization.alert-kafka-brokers": brokers,
            "finalization.alert-kafka-topic": "late-records",
            "finalization.alert-kafka-properties": properties,
        }
    )


@pytest.mark.integration
def test_an_alert_is_a_record_keyed_by_table_with_its_id_in_a_header(stack: Stack):
    brokers = stack.kafka.bootstrap
    create_sink("kafka", policy(brokers)).send(ALERT)
    consumer = Consumer(
        {"bootstrap.servers": brokers, "group.id": "late-records", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["late-records"])
    record = wait_until(lambda: consumer.poll(0.5), 60, "the alert")
    consumer.close()
    assert record.key() == b"lake.f"
    assert record.headers() == [("id", b"lake.f/main/7")]
    assert json.loads(record.value())["late_records"] == 3


def test_a_dead_broker_is_an_error_that_can_be_retried():
    dead = policy(f"127.0.0.1:{free_port()}", "message.timeout.ms=200,log_level=0")
    with pytest.raises(AlertDeliveryError, match="Kafka did not take it"):
        create_sink("kafka", dead).send(ALERT)
