"""The subcommand `finalization run`."""

from __future__ import annotations

import logging
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from finalization.exceptions import ConfigurationError

if TYPE_CHECKING:
    from flink_jobs.submit import RunningJob

_LOOK_INTERVAL_S = 0.5


def register(app: typer.Typer) -> None:
    """Add this part's subcommands to the command line."""
    app.command("run")(run)


def run(
    pipeline_file: Annotated[Path, typer.Argument(metavar="PIPELINE.yaml", help="The pipeline file.")],
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT", help="A running Flink cluster's REST address; without it, Flink runs here."
        ),
    ] = None,
    restore: Annotated[
        str,
        typer.Option(
            metavar="latest|none|PATH",
            help="Where to go on from: the newest kept checkpoint, nowhere, or a checkpoint or savepoint.",
        ),
    ] = "latest",
    flink: Annotated[
        list[str] | None,
        typer.Option("--flink", metavar="KEY=VALUE", help="More Flink configuration; repeatable."),
    ] = None,
) -> None:
    """Run a pipeline's CDC job: change events from Kafka into the CDC table, with finalization."""
    # Imported here: the command line must start fast for its other commands.
    from finalization.pipeline import load
    from flink_jobs.submit import submit

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    logging.getLogger("flink_jobs").setLevel(logging.INFO)
    job = submit(load(pipeline_file), cluster, None if restore == "none" else restore, _pairs(flink or []))
    print(f"job {job.job_id}", flush=True)
    print(f"Flink's page {job.web_page}", flush=True)
    if cluster is None:
        _watch(job)


def _watch(job: RunningJob) -> None:
    """Stay with a job that runs in this process until it ends or this process is asked to."""
    # The bridge to the JVM logs every broken call with its stack; what it means is said once, as an error.
    logging.getLogger("py4j.java_gateway").setLevel(logging.CRITICAL)
    asked_to_stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: asked_to_stop.set())
    # Asking again and again, rather than waiting inside the JVM: a signal is then never met in mid-call.
    while not asked_to_stop.wait(_LOOK_INTERVAL_S):
        if job.is_finished():
            return
    job.cancel()
    print("cancelled; the newest checkpoint is kept, the next run goes on from it", flush=True)


def _pairs(settings: list[str]) -> dict[str, str]:
    pairs = {}
    for setting in settings:
        key, separator, value = setting.partition("=")
        if not separator:
            raise ConfigurationError(
                f"--flink is {setting!r}; expected KEY=VALUE, such as state.backend.type=rocksdb"
            )
        pairs[key.strip()] = value.strip()
    return pairs
