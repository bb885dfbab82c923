"""Runs a pipeline's CDC job, in this process's own small Flink or on a running cluster."""

from __future__ import annotations

import logging
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from finalization.catalog import open_catalog
from finalization.exceptions import ConfigurationError, FinalizationError
from flink_jobs import cdc_job
from flink_jobs.environment import create_environment
from flink_jobs.tables import ensure_tables

if TYPE_CHECKING:
    from finalization.pipeline import Pipeline

LOG = logging.getLogger(__name__)
LATEST = "latest"


@dataclass(frozen=True)
class RunningJob:
    """A submitted job: Flink's id, the address of Flink's web page, and the handle that waits or cancels."""

    job_id: str
    web_page: str
    client: Any

    def is_finished(self) -> bool:
        """Whether the job has ended. Raises JobFailedError with Flink's reason if it failed."""
        try:
            status = str(self.client.get_job_status().result().name)
            if status == "FAILED":
                self.client.get_job_execution_result().result()
        except Exception as error:
            raise JobFailedError(f"job {self.job_id} failed: {_reason(error)}") from error
        return status in ("FINISHED", "CANCELED")

    def cancel(self) -> None:
        """Cancel the job; its newest checkpoint is kept."""
        self.client.cancel().result()


class JobFailedError(FinalizationError):
    """A job that ran in this process ended by itself."""


def _reason(error: BaseException) -> str:
    """The innermost cause that the JVM tells, without its stack."""
    causes = [line for line in str(error).splitlines() if "Caused by: " in line]
    return causes[-1].strip() if causes else str(error).splitlines()[0]


def submit(
    pipeline: Pipeline,
    cluster: str | None = None,
    restore: str | None = LATEST,
    config: Mapping[str, str] | None = None,
) -> RunningJob:
    """Make the tables and start the job.

    Args:
        cluster: `host:port` of a running cluster's REST address; None runs Flink in this process.
        restore: a checkpoint or savepoint to go on from; `latest` takes the newest kept checkpoint of the
            pipeline's directory, if there is one; None starts from the topics' beginning.
        config: more Flink configuration; wins over what the pipeline says.

    Raises:
        ConfigurationError: if the tables or the settings do not fit.
    """
    ensure_tables(open_catalog(pipeline.catalog), pipeline)
    rest = _rest_config(cluster)
    settings = {**_job_config(pipeline), **rest, **_restore_config(pipeline, restore), **(config or {})}
    environment = create_environment(settings)
    for statement in cdc_job.statements(pipeline):
        environment.execute_sql(statement)
    job = environment.create_statement_set()
    for statement in cdc_job.inserts(pipeline):
        job.add_insert_sql(statement)
    client = job.execute().get_job_client()
    web_page = f"http://{settings['rest.address']}:{settings['rest.port']}"
    return RunningJob(str(client.get_job_id()), web_page, client)


def _job_config(pipeline: Pipeline) -> dict[str, str]:
    return {
        "pipeline.name": pipeline.name,
        "parallelism.default": str(pipeline.parallelism),
        "execution.checkpointing.interval": f"{pipeline.checkpoint.interval_ms} ms",
        "execution.checkpointing.mode": "EXACTLY_ONCE",
        "execution.checkpointing.storage": "filesystem",
        "execution.checkpointing.dir": pipeline.checkpoint.directory,
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        "execution.checkpointing.num-retained": "2",
        # Both tables get the newer sink: the older one cannot tell a commit's checkpoint at the end of input.
        "table.exec.iceberg.use-v2-sink": "true",
        # A split without messages must not hold back the others' progress.
        "table.exec.source.idle-timeout": "10 s",
    }


def _rest_config(cluster: str | None) -> dict[str, str]:
    if cluster is None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = str(probe.getsockname()[1])
        return {"rest.address": "127.0.0.1", "rest.bind-address": "127.0.0.1", "rest.port": port}
    host, separator, port = cluster.removeprefix("http://").rstrip("/").rpartition(":")
    if not separator or not port.isdigit():
        raise ConfigurationError(f"--cluster is {cluster!r}; expected host:port of Flink's REST address")
    return {
        "execution.target": "remote",
        "execution.attached": "false",
        "rest.address": host,
        "rest.port": port,
        # The workers' own interpreter, not this machine's.
        "sink.python.executable": "python3",
        "python.executable": "python3",
    }


def _restore_config(pipeline: Pipeline, restore: str | None) -> dict[str, str]:
    path = newest_checkpoint(pipeline.checkpoint.directory) if restore == LATEST else restore
    if path is None:
        return {}
    LOG.info("going on from %s", path)
    return {"execution.state-recovery.path": path}


def newest_checkpoint(directory: str) -> str | None:
    """Return the newest completed checkpoint under a local `file://` directory, None if there is none.

    In other storage this does not look: name the checkpoint to restore from.
    """
    parts = urlsplit(directory)
    if parts.scheme not in ("", "file"):
        return None
    found = Path(unquote(parts.path)).glob("*/chk-*/_metadata")
    newest = max(found, key=lambda path: path.stat().st_mtime_ns, default=None)
    return newest.parent.as_uri() if newest else None
