"""Ties a server's life to the program that started it.

Run by `local_stack.process` as
`python -IS guard.py --signal N --grace S [--uid U --gid G] [--remove FOLDER] -- COMMAND ...`.
The guard starts COMMAND in a process group of its own, writes its pid to standard output, and ends the whole
group once its own standard input is closed. The system closes it for us when the starting program ends in
whatever way, kill -9 included, so nothing is left behind. Standard library only: it runs without the
environment's packages.
"""

import argparse
import contextlib
import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
import time

_PR_SET_PDEATHSIG = 1
_POLL_S = 0.05
_HELPERS_GRACE_S = 5.0


def main() -> int:
    options = _options()
    # Python writes a byte to this pipe at each signal that has a handler: one select() waits for everything.
    wake_reader, wake_writer = os.pipe()
    os.set_blocking(wake_writer, False)
    signal.set_wakeup_fd(wake_writer)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    child = subprocess.Popen(
        options.command,
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        start_new_session=True,
        preexec_fn=_die_with_the_guard,
        user=options.uid,
        group=options.gid,
        extra_groups=None if options.uid is None else [],
    )
    print(child.pid, flush=True)
    _wait_for_end(child, wake_reader)
    _end_group(child, options.signal, options.grace)
    if options.remove is not None:
        shutil.rmtree(options.remove, ignore_errors=True)
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--signal", type=int, default=signal.SIGTERM)
    parser.add_argument("--grace", type=float, default=10.0)
    parser.add_argument("--uid", type=int)
    parser.add_argument("--gid", type=int)
    parser.add_argument("--remove", help="a folder to remove when all is over")
    parser.add_argument("command", nargs="+")
    return parser.parse_args()


def _die_with_the_guard() -> None:
    """In the child, before exec: the guard's own death by kill -9 ends the child too (Linux only)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _wait_for_end(child: "subprocess.Popen[bytes]", wake_reader: int) -> None:
    """Returns once the child ended, the standard input was closed, or the guard was asked to end."""
    while child.poll() is None:
        ready, _, _ = select.select([sys.stdin.fileno(), wake_reader], [], [])
        if sys.stdin.fileno() in ready:
            return
        if any(number != signal.SIGCHLD for number in os.read(wake_reader, 64)):
            return


def _end_group(child: "subprocess.Popen[bytes]", stop_signal: int, grace_s: float) -> None:
    """Asks the child to stop and waits `grace_s` seconds; then ends what is left of its group.

    The child alone is asked first: a program that ends in order still needs the helpers it started.
    """
    child.send_signal(stop_signal)
    deadline = time.monotonic() + grace_s
    while child.poll() is None and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGTERM if child.returncode is not None else signal.SIGKILL)
        deadline = time.monotonic() + _HELPERS_GRACE_S
        while time.monotonic() < deadline:
            child.poll()
            os.killpg(child.pid, 0)
            time.sleep(_POLL_S)
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


if __name__ == "__main__":
    sys.exit(main())
