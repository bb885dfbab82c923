from datetime import UTC, datetime

import pytest

from demo.database import COLUMNS
from demo.settings import TOPIC, Settings, write_pipeline


@pytest.mark.parametrize(("speed", "interval_ms"), [(1800, 2000), (3600, 1000), (7200, 1000), (60, 60_000)])
def test_a_checkpoint_holds_an_hour_of_data_but_lasts_a_second(tmp_path, speed, interval_ms):
    assert Settings(1, speed, tmp_path).checkpoint_ms == interval_ms


def test_the_pipeline_file_is_one_that_the_jobs_accept(tmp_path):
    pipeline = write_pipeline(Settings(1, 1800, tmp_path), "127.0.0.1:9092")
    assert pipeline.kafka.topics == [TOPIC]
    assert pipeline.columns == {column.name: column.flink for column in COLUMNS}
    assert pipeline.checkpoint.interval_ms == 2000
    assert pipeline.catalog.warehouse == f"file://{tmp_path}/lake/warehouse"


def test_the_consumer_waits_for_a_morning_hour_of_the_first_day(tmp_path):
    assert Settings(1, 1800, tmp_path).consumer_hour == datetime(2013, 1, 1, 13, tzinfo=UTC)
