"""Child processes that never outlive the program that started them."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

from local_stack.exceptions import LocalStackError, WaitTimeoutError
from local_stack.waiting import wait_until

_GUARD = Path(__file__).with_name("guard.py")


class Child:
    """One process with all it starts, in a process group of its own, output in a log file.

    It ends with `stop()`, on leaving the `with` block, and when this program dies, kill -9 included: a small
    guard process watches a pipe this program holds. Ctrl-C in the terminal does not reach it.

    - `stop_signal`: what asks the process to stop; after `grace_s` seconds its group is killed.
    - `user`: (uid, gid) to run as, when this program may change it.
    - `remove_at_end`: a folder that goes when the process ended, also after kill -9 of this program.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        log: Path,
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        stop_signal: int = signal.SIGTERM,
        grace_s: float = 10.0,
        user: tuple[int, int] | None = None,
        remove_at_end: Path | None = None,
    ) -> None:
        self.name = name
        self.log = log
        self._command = [str(part) for part in command]
        self._env = {**os.environ, **(env or {})}
        self._cwd = cwd
        self._stop_signal = stop_signal
        self._grace_s = grace_s
        self._user = user
        self._remove_at_end = remove_at_end
        self._guard: subprocess.Popen[bytes] | None = None
        self._pid: int | None = None

    def start(self) -> Self:
        """Starts the process. Raises LocalStackError if it runs already or cannot be started."""
        if self.running:
            raise LocalStackError(f"{self.name} runs already (pid {self._pid})")
        self.stop()
        guard = [sys.executable, "-IS", str(_GUARD), "--signal", str(int(self._stop_signal))]
        guard += ["--grace", str(self._grace_s)]
        if self._user is not None:
            guard += ["--uid", str(self._user[0]), "--gid", str(self._user[1])]
        if self._remove_at_end is not None:
            guard += ["--remove", str(self._remove_at_end)]
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self._guard = subprocess.Popen(
                [*guard, "--", *self._command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=self._env,
                cwd=self._cwd,
                start_new_session=True,
            )
        assert self._guard.stdout is not None
        with self._guard.stdout as answer:
            pid = answer.readline()
        if not pid:
            self.stop()
            raise LocalStackError(f"{self.name} could not be started. {self.log_tail()}")
        self._pid = int(pid)
        return self

    @property
    def running(self) -> bool:
        return self._guard is not None and self._guard.poll() is None

    @property
    def pid(self) -> int:
        """The process id of the process itself, which is its process group's too."""
        if self._pid is None:
            raise LocalStackError(f"{self.name} was not started")
        return self._pid

    @property
    def returncode(self) -> int | None:
        """The exit code (128 + signal number if a signal ended it), None while it runs."""
        return None if self._guard is None else self._guard.poll()

    def wait_ready(self, ready: Callable[[], object], timeout_s: float) -> None:
        """Polls `ready` until it is truthy.

        Raises LocalStackError, with the end of the log, once the process ends or after `timeout_s` seconds.
        """

        def ready_or_ended() -> object:
            if not self.running:
                raise LocalStackError(
                    f"{self.name} ended with code {self.returncode} before it was ready. {self.log_tail()}"
                )
            return ready()

        try:
            wait_until(ready_or_ended, timeout_s, f"{self.name} is ready")
        except WaitTimeoutError as error:
            raise LocalStackError(f"{error}. {self.log_tail()}") from error

    def wait(self, timeout_s: float) -> int:
        """Waits for the process to end by itself and returns its exit code."""
        wait_until(lambda: not self.running, timeout_s, f"{self.name} ends")
        assert self.returncode is not None
        return self.returncode

    def stop(self) -> None:
        """Ends the process and its group; does nothing if it does not run."""
        if self._guard is None:
            return
        assert self._guard.stdin is not None
        with contextlib.suppress(OSError):
            self._guard.stdin.close()
        try:
            self._guard.wait(self._grace_s + 10)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """Kills the process and its group at once, as kill -9 does."""
        if self._guard is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._guard.wait()
        assert self._guard.stdin is not None
        self._guard.stdin.close()

    def log_tail(self, lines: int = 40) -> str:
        """Returns a readable end of the log, for error messages."""
        if not self.log.exists():
            return f"It wrote no log ({self.log})."
        tail = self.log.read_text(errors="replace").splitlines()[-lines:]
        return "\n".join([f"The end of its log {self.log}:", *tail])

    def __enter__(self) -> Self:
        return self if self.running else self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()
