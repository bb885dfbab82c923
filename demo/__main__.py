"""`python -m demo`: real flights become final hours that a waiting consumer is released by."""

import argparse
import contextlib
import shutil
import signal
import sys
import time
from pathlib import Path
from types import FrameType

from rich.console import Console
from rich.text import Text

from demo.flights import MOST_DAYS
from demo.run import Demo
from demo.settings import FASTEST, Settings
from finalization.exceptions import FinalizationError
from local_stack.exceptions import LocalStackError

_DIRECTORY = Path(__file__).parent.parent / "build" / "demo"
_MARKER = ".demo"
_INTERRUPTED = 130
_PLAIN_WIDTH = 120


def main(kind: type[Demo] = Demo) -> int:
    """Returns the exit code: 0 if all checks passed, 1 if not or if a part failed, 130 if interrupted."""
    settings = _settings()
    console = Console()
    if not console.is_terminal:
        console = Console(width=_PLAIN_WIDTH)
    # Every way to end the program goes through the same clean-up.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    try:
        _empty(settings.directory)
        with kind(settings, console) as demo:
            passed = demo.run()
            if settings.keep:
                demo.print_addresses()
                _wait_for_interrupt()
    except (LocalStackError, FinalizationError) as error:
        console.print(Text.assemble(("The demo failed. ", "bold red"), str(error)), soft_wrap=True)
        return 1
    except KeyboardInterrupt:
        console.print("Interrupted; every process was ended.")
        return _INTERRUPTED
    return 0 if passed else 1


def _settings() -> Settings:
    parser = argparse.ArgumentParser(prog="python -m demo", description=__doc__)
    parser.add_argument("--days", type=_days, default=2, help="days of 2013 to play (2)")
    parser.add_argument("--speed", type=_speed, default=1800.0, help="seconds of data in a second (1800)")
    parser.add_argument("--keep", action="store_true", help="leave everything running until Ctrl-C")
    parser.add_argument(
        "--directory", type=Path, default=_DIRECTORY, help="emptied first, then all files and logs"
    )
    options = parser.parse_args()
    return Settings(options.days, options.speed, options.directory.resolve(), options.keep)


def _empty(directory: Path) -> None:
    """Makes the folder, or empties the one of an earlier run; a folder of something else is left alone."""
    marker = directory / _MARKER
    if directory.exists() and any(directory.iterdir()) and not marker.exists():
        raise LocalStackError(f"--directory is {directory}, which holds files that are not the demo's")
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    marker.touch()


def _days(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= MOST_DAYS:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 to {MOST_DAYS}")
    return int(text)


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not 1 <= speed <= FASTEST:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to {FASTEST}")
    return speed


def _wait_for_interrupt() -> None:
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            time.sleep(1)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
