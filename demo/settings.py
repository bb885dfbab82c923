"""What one run of the demo is made of: names, pace, folders, the pipeline file."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import yaml

from demo.database import COLUMNS, EVENT_TIME, KEY, SCHEMA, TABLE
from demo.flights import FIRST_DAY
from finalization import pipeline
from finalization.pipeline import Pipeline

PREFIX = "demo"
TOPIC = f"{PREFIX}.{SCHEMA}.{TABLE}"
UPSERT_EVERY = "3s"

# Three commits of an hour of data each: an hour is final about eight hours after it began, and of a thousand
# rows about one still comes late. A cautious team looks back further, and waits longer.
_LOOKBACK_COMMITS = 3
_SHORTEST_CHECKPOINT_MS = 1000

FASTEST = 7200
"""Seconds of data in a second, at most: more, and a day is too few commits for its hours to become final."""


@dataclass(frozen=True)
class Settings:
    """One run: the first `days` days of 2013, `speed` seconds of data in a second, files in `directory`."""

    days: int
    speed: float
    directory: Path
    keep: bool = False

    @property
    def checkpoint_ms(self) -> int:
        """An hour of data, but at least a second."""
        return max(_SHORTEST_CHECKPOINT_MS, round(3_600_000 / self.speed))

    @property
    def consumer_hour(self) -> datetime:
        """The hour the consumer waits for, 8 to 9 in the morning in New York: no run is too short for it."""
        return datetime.combine(FIRST_DAY, datetime.min.time(), UTC) + timedelta(hours=13)

    @property
    def pipeline_file(self) -> Path:
        return self.directory / "flights.yaml"

    @property
    def consumer_report(self) -> Path:
        return self.directory / "consumer.json"

    def log(self, name: str) -> Path:
        return self.directory / "log" / f"{name}.log"


def write_pipeline(settings: Settings, brokers: str) -> Pipeline:
    """Writes the pipeline file that all jobs of the run share, and returns it as they read it."""
    lake = settings.directory / "lake"
    lake.mkdir(parents=True, exist_ok=True)
    content = {
        "name": "flights",
        "kafka": {"brokers": brokers, "topics": [TOPIC]},
        "format": "debezium-json",
        "columns": {column.name: column.flink for column in COLUMNS},
        "primary-key": [KEY],
        "event-time": {"column": EVENT_TIME},
        "tables": {"cdc": "lake.flights_cdc", "base": "lake.flights"},
        "catalog": {
            "name": "ice",
            "type": "sql",
            "uri": f"sqlite:///{lake}/catalog.db",
            "warehouse": f"file://{lake}/warehouse",
        },
        "finalization": {"lookback-commits": _LOOKBACK_COMMITS},
        "checkpoint": {
            "interval": f"{settings.checkpoint_ms}ms",
            "directory": f"file://{settings.directory}/checkpoints",
        },
        "parallelism": 1,
        "upsert": {"deletes": "hard"},
    }
    settings.pipeline_file.write_text(yaml.safe_dump(content, sort_keys=False))
    return pipeline.load(settings.pipeline_file)
