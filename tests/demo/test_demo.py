"""The demo as its user starts it, on a short and fast run."""

import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import psutil
import pytest

from local_stack.waiting import wait_until

ROOT = Path(__file__).parents[2]
RUN = [sys.executable, "-m", "demo", "--days", "1", "--speed", "7200"]
RUN_TIMEOUT_S = 360
START_TIMEOUT_S = 180
STOP_TIMEOUT_S = 60


def start(directory: Path, *options: str) -> tuple["subprocess.Popen[bytes]", Path]:
    """Starts the demo; returns it and the file it prints to."""
    output = directory.with_suffix(".out")
    with output.open("wb") as file:
        command = [*RUN, "--directory", str(directory), *options]
        return subprocess.Popen(command, cwd=ROOT, stdout=file, stderr=subprocess.STDOUT), output


def processes_of(directory: Path) -> list[str]:
    """Command lines of all processes that have to do with a run's folder."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        command = " ".join(process.info["cmdline"] or [])
        if str(directory) in command:
            found.append(command)
    return found


@pytest.mark.integration
def test_flights_become_final_hours_that_release_the_consumer(tmp_path):
    directory = tmp_path / "demo"
    demo, output = start(directory, "--keep")
    try:
        wait_until(
            lambda: "Everything still runs" in output.read_text() or demo.poll() is not None,
            RUN_TIMEOUT_S,
            "the demo has checked itself",
        )
        text = output.read_text()
        page = re.search(r"Flink's web page +(http\S+)", text)
        assert page is not None, text
        assert b"Apache Flink" in urllib.request.urlopen(page[1], timeout=10).read()
        demo.send_signal(signal.SIGINT)
        code = demo.wait(STOP_TIMEOUT_S)
    finally:
        demo.kill()
    assert code == 0, text
    assert "5 of 5 checks passed" in text
    assert int(re.search(r"hours final +(\d+)", text[text.index("changes in") :])[1]) >= 4
    assert re.search(r"read 2013-01-01 13:00–14:00: 58 flights", text)
    assert processes_of(directory) == []


@pytest.mark.integration
@pytest.mark.parametrize(("number", "expected"), [(signal.SIGTERM, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_a_signal_ends_the_demo_and_all_it_started(tmp_path, number, expected):
    directory = tmp_path / "demo"
    demo, output = start(directory)
    try:
        wait_until(
            lambda: "Starting the Flink job" in output.read_text() or demo.poll(),
            START_TIMEOUT_S,
            "servers run",
        )
        assert len(processes_of(directory)) > 5
        demo.send_signal(number)
        code = demo.wait(STOP_TIMEOUT_S)
    finally:
        demo.kill()
    assert code == expected, output.read_text()
    wait_until(lambda: processes_of(directory) == [], STOP_TIMEOUT_S, "every process is gone")


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "precious").touch()
    done = subprocess.run([*RUN, "--directory", str(tmp_path)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert "holds files that are not the demo's" in done.stdout
    assert (tmp_path / "precious").exists()


@pytest.mark.parametrize(
    "options", [["--days", "0"], ["--days", "366"], ["--days", "x"], ["--speed", "0"], ["--speed", "7201"]]
)
def test_a_wrong_option_is_refused_with_its_form(options):
    done = subprocess.run([*RUN, *options], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert f"argument {options[0]}: '{options[1]}' is no" in done.stderr
