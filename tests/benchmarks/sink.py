"""The sink beside the standard one: CPU and wall time of whole jobs, in turn, as ratios."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.sink_job import NARROW, STANDARD, VARIANTS, WIDE

ROWS = {
    NARROW: int(os.environ.get("BENCH_ROWS", "10000000")),
    WIDE: int(os.environ.get("BENCH_WIDE_ROWS", "2000000")),
}
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
_TIMEOUT_S = 3600
_SHAPES = {
    NARROW: "BIGINT, STRING of 10, TIMESTAMP",
    WIDE: "31 columns: 11 BIGINT, 8 DOUBLE, 11 STRING of 10, TIMESTAMP",
}

Run = dict[str, float]


def report() -> str:
    """The section in Markdown. Runs for about ten minutes."""
    introduction = f"""## The sink beside the standard one

Generated rows with random times over two hours into Parquet, a commit every 3 seconds, {ROUNDS} rounds, the
variants in turn in one warm JVM. CPU time is the JVM's; its Python workers' is beside it. A ratio to the
standard sink is taken within each round; quoted are its median and its range. *Ours, off* is the same job
graph as the standard sink's (a test), so its ratio shows the noise. *event-time* includes finalization's
own Python processor.
"""
    sections = [_section(width, parallelism) for width in (NARROW, WIDE) for parallelism in (1, 2)]
    return "\n".join([introduction, *sections])


def _section(width: str, parallelism: int) -> str:
    results = _measure(width, parallelism)
    lines = [
        f"### {ROWS[width]:,} {width} rows ({_SHAPES[width]}), parallelism {parallelism}",
        "",
        "| sink | CPU s | wall s | Python's CPU s | CPU ratio | wall ratio |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for variant in VARIANTS:
        runs = results[variant]
        cells = [
            f"{statistics.median(run[key] for run in runs):.1f}"
            for key in ("cpu_s", "wall_s", "python_cpu_s")
        ]
        if variant != STANDARD:
            cells += [_ratio(runs, results[STANDARD], key) for key in ("cpu_s", "wall_s")]
        else:
            cells += ["1", "1"]
        lines.append(f"| {variant} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _ratio(ours: list[Run], standard: list[Run], key: str) -> str:
    ratios = [a[key] / b[key] for a, b in zip(ours, standard, strict=True)]
    return f"{statistics.median(ratios):.3f} ({min(ratios):.3f}–{max(ratios):.3f})"


def _measure(width: str, parallelism: int) -> dict[str, list[Run]]:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        arguments = [width, str(parallelism), str(ROWS[width]), str(ROUNDS), folder]
        command = [sys.executable, "-m", "tests.benchmarks.sink_job", *arguments]
        log = Path(folder) / "log"
        with log.open("w") as errors:
            result = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=errors, text=True, timeout=_TIMEOUT_S, check=False
            )
        if result.returncode != 0:
            raise SystemExit(f"{' '.join(command)} failed:\n{result.stdout}\n{log.read_text()}")
    results: dict[str, list[Run]] = {variant: [] for variant in VARIANTS}
    for line in result.stdout.splitlines():
        if line.startswith("{"):
            print(width, parallelism, line, flush=True)
            run = json.loads(line)
            results[run["variant"]].append(run)
    return results
