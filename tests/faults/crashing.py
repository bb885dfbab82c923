"""Commit processors that end the job at chosen moments, once each; the sink loads them by name."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from time import sleep

from finalization.commit import CommitContext

MARKER_VARIABLE = "CRASH_MARKER"


def _first_time() -> bool:
    """True once: a file remembers it beyond this process."""
    try:
        Path(os.environ[MARKER_VARIABLE]).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def _kill_the_job() -> None:
    os.kill(os.getppid(), signal.SIGKILL)
    sleep(60)  # until the sink's end closes our standard input, at most


class _Processor:
    def pre_commit(self, ctx: CommitContext) -> None: ...

    def post_commit(self, ctx: CommitContext) -> None: ...


class KillBeforeCommit(_Processor):
    """Kills the job's JVM when facts and files are known and nothing is committed."""

    def pre_commit(self, ctx: CommitContext) -> None:
        if _has_rows(ctx) and _first_time():
            _kill_the_job()


class KillAfterCommit(_Processor):
    """Kills the job's JVM when the snapshot is durable and the watermark not yet written."""

    def post_commit(self, ctx: CommitContext) -> None:
        if _has_rows(ctx) and _first_time():
            _kill_the_job()


class RaiseBeforeCommit(_Processor):
    """Aborts the first commit with rows."""

    def pre_commit(self, ctx: CommitContext) -> None:
        if _has_rows(ctx) and _first_time():
            raise RuntimeError("not this time")


class DieBeforeCommit(_Processor):
    """The worker itself dies."""

    def pre_commit(self, ctx: CommitContext) -> None:
        if _has_rows(ctx) and _first_time():
            os._exit(9)


class HangBeforeCommit(_Processor):
    """The worker hangs for longer than any deadline."""

    def pre_commit(self, ctx: CommitContext) -> None:
        if _has_rows(ctx) and _first_time():
            sleep(3600)


def _has_rows(ctx: CommitContext) -> bool:
    return int(ctx.accumulators.get("event-time", {}).get("count", "0")) > 0
