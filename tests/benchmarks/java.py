"""What Java programs measure: a record's nanoseconds, the size of facts, a commit's milliseconds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from finalization.jars import jar_set

_ROOT = Path(__file__).parents[2]
_MODULE = _ROOT / "sink_extensions" / "java"
_PACKAGE = "io.github.icebergfinalization.eventtime"
_RECORDS = ("1000", "1000000", "10000000")
_SNAPSHOTS = ("10", "100", "1000")
_FLAGS = ("-Xmx1500m", "-XX:+UseSerialGC", "-da:com.tdunning.math.stats.MergingDigest")
_FORKS = os.environ.get("BENCH_FORKS", "2")


def report() -> str:
    """The sections in Markdown. Runs for about seven minutes."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        class_path = _class_path(Path(folder))
        return "\n".join(
            [_nanoseconds(class_path, Path(folder)), _facts(class_path), _commits(class_path, folder)]
        )


def _class_path(folder: Path) -> str:
    listed = folder / "class-path"
    command = [
        "mvn",
        "-B",
        "-q",
        "-f",
        str(_MODULE / "pom.xml"),
        "test-compile",
        "dependency:build-classpath",
    ]
    subprocess.run([*command, f"-Dmdep.outputFile={listed}", "-Dmdep.includeScope=test"], check=True)
    driver = [str(path) for path in jar_set("hadoop") if path.name.startswith("sqlite-jdbc")]
    classes = [str(_MODULE / "target" / name) for name in ("test-classes", "classes")]
    return os.pathsep.join([*classes, listed.read_text().strip(), *driver])


def _java(class_path: str, *arguments: str) -> str:
    command = ["java", *_FLAGS, f"-Dpython={sys.executable}", "-cp", class_path, *arguments]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=_ROOT, check=True)
    return result.stdout


def _table(output: str) -> str:
    return "\n".join(line for line in output.splitlines() if line.startswith("|"))


def _nanoseconds(class_path: str, folder: Path) -> str:
    results = folder / "jmh.json"
    options = ["-f", _FORKS, "-rf", "json", "-rff", str(results)]
    _java(class_path, "org.openjdk.jmh.Main", "EventTimeBenchmark", *options)
    cells: dict[str, dict[str, str]] = {}
    for result in json.loads(results.read_text()):
        score = result["primaryMetric"]
        method = result["benchmark"].rsplit(".", 1)[1]
        cells.setdefault(result["params"]["times"], {})[method] = (
            f"{score['score']:.1f} ± {score['scoreError']:.1f}"
        )
    lines = [
        "## What a record costs the event-time accumulator",
        "",
        "Nanoseconds a record (JMH, average and 99.9 % interval), from a binary row with a `TIMESTAMP(6)`.",
        "*Reading* is the part that takes the time out of the row. *Naive* is a t-digest that every time is",
        "added to by itself.",
        "",
        "| times | accumulator | of it reading | naive |",
        "|---|--:|--:|--:|",
    ]
    for times, methods in cells.items():
        row = [methods[name] for name in ("accumulator", "reading", "digestForEachRecord")]
        lines.append(f"| {times} | {' | '.join(row)} |")
    return "\n".join(lines) + "\n"


def _facts(class_path: str) -> str:
    table = _table(_java(class_path, f"{_PACKAGE}.FactsAccuracy", *_RECORDS))
    return f"""## Size and accuracy of a commit's facts

All entries of a commit, their keys included, merged from two writers; and how far percentiles read from
them are from the true ones, in ranks from 0 to 1. With 1,000 records, one record is 0.001. *Bursty*: six
bursts of a second in an hour. *Two hours mixed*: a tenth of the records is four hours older. *Heavy tail*:
Pareto lateness up to 30 days, which reaches over the 48 partitions that are counted one by one.

{table}
"""


def _commits(class_path: str, folder: str) -> str:
    output = _java(class_path, "org.apache.iceberg.flink.sink.CommitPathBenchmark", folder, *_SNAPSHOTS)
    return f"""## What a commit costs

Milliseconds of one commit to a table in a SQL catalog (SQLite) that has so many snapshots, all with facts:
the standard committer, and ours with finalization's Python processor, in turn. A watermark that advances is
one more commit, of properties; it does so once an hour, not at every commit as here.

{_table(output)}
"""
