"""The Python worker as the sink starts it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from sink_extensions.worker import load_processor

WORKER = [sys.executable, "-m", "sink_extensions.worker"]


class NotAProcessor:
    """Has no method that the sink would call."""


def test_finalizations_own_processor_loads() -> None:
    assert load_processor("finalization.processor:FinalizationProcessor")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("finalization.processor", "not of the form package.module:Class"),
        ("no.such.module:X", "module 'no.such.module' does not import: No module named 'no'"),
        ("finalization.processor:Nope", "has no class 'Nope'"),
        (f"{__name__}:NotAProcessor", r"has no method pre_commit\(context\)"),
    ],
)
def test_a_target_that_does_not_load_says_why(target: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load_processor(target)


def test_a_check_answers_in_one_line() -> None:
    result = subprocess.run(
        [*WORKER, "--check", "no.such:X"], capture_output=True, text=True, timeout=60, check=False
    )
    assert result.returncode == 1
    assert result.stderr == "ValueError: module 'no.such' does not import: No module named 'no'\n"


def test_the_worker_ends_when_its_input_closes() -> None:
    with subprocess.Popen(
        [*WORKER, "finalization.processor:FinalizationProcessor"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        worker.stdin.write("secret\n")
        worker.stdin.flush()
        assert int(worker.stdout.readline()) > 0
        worker.stdin.close()
        assert worker.wait(30) == 0
