"""The subcommand `finalization run`."""

from __future__ import annotations

import logging
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from finalization.exceptions import ConfigurationError
from finalization.pipeline import load


def register(app: typer.Typer) -> None:
    """Add this part's subcommands to the command line."""
    app.command("run")(run)


def run(
    pipeline_file: Annotated[Path, typer.Argument(metavar="PIPELINE.yaml", help="The pipeline file.")],
    cluster: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="A running Flink cluster's REST address; without it, Flink runs here."),
    ] = None,
    restore: Annotated[
        str,
        typer.Option(
            metavar="latest|none|PATH",
            help="Where to go on from: the newest kept checkpoint, nowhere, or a checkpoint or savepoint.",
        ),
    ] = "latest",
    flink: Annotated[
        list[str] | None, typer.Option("--flink", metavar="KEY=VALUE", help="More Flink configuration; repeatable.")
    ] = None,
) -> None:
    """Run a pipeline's CDC job: change events from Kafka into the CDC table, with finalization."""
    from flink_jobs.submit import submit

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    job = submit(load(pipeline_file), cluster, None if restore == "none" else restore, _pairs(flink or []))
    print(f"job {job.job_id}", flush=True)
    print(f"Flink's page {job.web_page}", flush=True)
    if cluster is not None:
        return
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        job.wait()
    except KeyboardInterrupt:
        job.cancel()
        print("cancelled; the newest checkpoint is kept, the next run goes on from it", flush=True)
        sys.exit(0)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _pairs(settings: list[str]) -> dict[str, str]:
    pairs = {}
    for setting in settings:
        key, separator, value = setting.partition("=")
        if not separator:
            raise ConfigurationError(f"--flink is {setting!r}; expected KEY=VALUE, such as state.backend.type=rocksdb")
        pairs[key.strip()] = value.strip()
    return pairs
