"""Measures, and writes docs/benchmarks.md: `python -m tests.benchmarks [section …]`, all sections by default.

Each section is kept in build/benchmarks with the day of its measuring; the page joins those there are.
"""

from __future__ import annotations

import datetime as dt
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks import java, sink

_ROOT = Path(__file__).parents[2]
_KEPT = _ROOT / "build" / "benchmarks"
_PAGE = _ROOT / "docs" / "benchmarks.md"


def _upsert() -> str:
    """Writes its section itself, as its sizes can be chosen on its own command line."""
    minutes = os.environ.get("BENCH_UPSERT_MINUTES", "20")
    command = [sys.executable, "-m", "tests.benchmarks.upsert", "--minutes", minutes]
    subprocess.run(command, cwd=_ROOT, check=True)
    return (_KEPT / "upsert.md").read_text()


SECTIONS: dict[str, Callable[[], str]] = {"sink": sink.report, "java": java.report, "upsert": _upsert}


def main(names: list[str]) -> None:
    unknown = sorted(set(names) - SECTIONS.keys())
    if unknown:
        raise SystemExit(f"no section {', '.join(unknown)}; there are: {', '.join(SECTIONS)}")
    _KEPT.mkdir(parents=True, exist_ok=True)
    for name in names or SECTIONS:
        text = SECTIONS[name]()
        today = dt.datetime.now(dt.UTC).date()
        (_KEPT / f"{name}.md").write_text(f"{text.rstrip()}\n\n<sub>Measured on {today}.</sub>\n")
    _PAGE.write_text(_page())
    print(_PAGE.read_text())


def _page() -> str:
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    head = f"# Benchmarks\n\nWritten by `make bench` ({machine}). Ratios are worth more than seconds.\n"
    kept = [_KEPT / f"{name}.md" for name in SECTIONS]
    return "\n".join([head, *(path.read_text() for path in kept if path.exists())])


if __name__ == "__main__":
    main(sys.argv[1:])
