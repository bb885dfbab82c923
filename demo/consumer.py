"""A batch consumer: waits until one hour of a table is final, then reads it once.

Usage: `python -m demo.consumer PIPELINE.yaml HOUR REPORT.json`, HOUR being the hour's beginning such as
2013-01-01T13:00Z. Of the pipeline a consumer needs to know no more than the table's name and its catalog.
"""

import json
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from demo.database import COLUMNS
from demo.jobs import FINALIZATION
from demo.lake import UPSERTED_SNAPSHOT, Lake, Row, rows_of_hour, watermark
from demo.view import HOUR
from finalization import pipeline

_LATE_MINUTES = 15

TextRow = dict[str, str]


@dataclass(frozen=True)
class Report:
    """What the consumer read: the rows, W and the upsert's origin from the same metadata of the table."""

    watermark: datetime
    cdc_snapshot_id: int
    rows: list[TextRow]

    @property
    def late_flights(self) -> int:
        """How many of the flights left more than a quarter of an hour late: the consumer's business."""
        delays = [int(row["dep_delay"]) for row in self.rows if row["dep_delay"] != "None"]
        return sum(delay > _LATE_MINUTES for delay in delays)

    def save(self, path: Path) -> None:
        """Writes the report; it appears under its name only when it is whole."""
        partial = path.with_suffix(".partial")
        content = {
            "watermark": self.watermark.isoformat(),
            "cdc-snapshot-id": self.cdc_snapshot_id,
            "rows": self.rows,
        }
        partial.write_text(json.dumps(content))
        partial.rename(path)

    @classmethod
    def load(cls, path: Path) -> "Report | None":
        """Reads a report, None if there is none yet."""
        if not path.exists():
            return None
        content = json.loads(path.read_text())
        instant = datetime.fromisoformat(content["watermark"])
        return cls(instant, content["cdc-snapshot-id"], content["rows"])


def as_text(rows: Iterable[Row]) -> list[TextRow]:
    """Rows with all values as text: the form that goes through JSON unchanged."""
    return [{name: str(value) for name, value in row.items()} for row in rows]


def run(pipeline_file: Path, hour: datetime) -> Report:
    """Waits for the hour of the base table, then reads it."""
    flights = pipeline.load(pipeline_file)
    until = f"{hour + HOUR:%Y-%m-%dT%H:%MZ}"
    wait: list[str | Path] = [FINALIZATION, "wait", flights.tables.base, "--until", until, "--poll", "1s"]
    subprocess.run([*wait, "--pipeline", pipeline_file], check=True)
    table = Lake(flights).table(flights.tables.base)
    assert table is not None
    final_until = watermark(table)
    assert final_until is not None
    rows = rows_of_hour(table, hour, [column.name for column in COLUMNS])
    return Report(final_until, int(table.properties[UPSERTED_SNAPSHOT]), as_text(rows))


if __name__ == "__main__":
    run(Path(sys.argv[1]), datetime.fromisoformat(sys.argv[2])).save(Path(sys.argv[3]))
