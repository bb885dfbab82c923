"""Measures the sink against the standard one, in turn, and writes docs/benchmarks.md."""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.sink_job import VARIANTS

REPORT = Path(__file__).parents[2] / "docs" / "benchmarks.md"
ROWS = int(os.environ.get("BENCH_ROWS", "10000000"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
PARALLELISM = (1, 2)


def main() -> None:
    sections = [_section(parallelism) for parallelism in PARALLELISM]
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    today = dt.datetime.now(dt.UTC).date()
    introduction = f"""# Benchmarks

Written by `make bench` on {today} ({machine}).

{ROWS:,} narrow rows (BIGINT, STRING of 10, TIMESTAMP) from a generator into Parquet, {ROUNDS} rounds, the two
sinks in turn. CPU time is the JVM's while the job runs, start-up left out; the Python worker's is beside it.
A ratio is taken within each round; quoted are its median and its range.

"""
    REPORT.write_text(introduction + "\n".join(sections))
    print(REPORT.read_text())


def _section(parallelism: int) -> str:
    results: dict[str, list[dict[str, float]]] = {variant: [] for variant in VARIANTS}
    for number in range(ROUNDS):
        order = list(VARIANTS) if number % 2 == 0 else list(reversed(VARIANTS))
        for variant in order:
            results[variant].append(_run(variant, parallelism))
            print(parallelism, variant, results[variant][-1], flush=True)
    ratios = {
        key: [
            ours[key] / standard[key]
            for ours, standard in zip(results["finalization"], results["standard"], strict=True)
        ]
        for key in ("cpu_s", "wall_s")
    }
    lines = [
        f"## Parallelism {parallelism}",
        "",
        "| sink | CPU s | wall s | Python worker's CPU s |",
        "|---|--:|--:|--:|",
    ]
    for variant, runs in results.items():
        cells = " | ".join(
            f"{statistics.median(r[k] for r in runs):.1f}" for k in ("cpu_s", "wall_s", "python_cpu_s")
        )
        lines.append(f"| {variant} | {cells} |")
    lines.append("")
    for key, name in (("cpu_s", "CPU"), ("wall_s", "Wall")):
        low, high = min(ratios[key]), max(ratios[key])
        lines.append(f"{name} ratio {statistics.median(ratios[key]):.3f} ({low:.3f} to {high:.3f}).  ")
    return "\n".join(lines) + "\n"


def _run(variant: str, parallelism: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        command = [
            sys.executable,
            "-m",
            "tests.benchmarks.sink_job",
            variant,
            str(ROWS),
            str(parallelism),
            folder,
        ]
        result = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        if result.returncode != 0:
            raise SystemExit(f"{' '.join(command)} failed:\n{result.stdout}\n{result.stderr}")
        measured: dict[str, float] = json.loads(result.stdout.splitlines()[-1])
        return measured


if __name__ == "__main__":
    main()
