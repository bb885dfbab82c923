"""The Python process beside the committer, which runs one commit processor for the sink.

The sink starts `python -m sink_extensions.worker package.module:Class`, writes a secret as the first line of
its standard input, and reads the port from its standard output. It ends when its standard input closes, so it
never outlives the sink.
"""

from __future__ import annotations

import importlib
import json
import logging
import sys
from collections.abc import Mapping
from typing import Any

from finalization.commit import CommitProcessor
from finalization.lineage import Snapshot
from sink_extensions.targets import check_methods

PROCESSOR_INTERFACE = "io.github.icebergfinalization.python.PythonWorker$Processor"


def load_processor(target: str) -> CommitProcessor:
    """Import `package.module:Class` and make an instance.

    Raises:
        ValueError: if the target has another form or names no class, or the class lacks a method.
    """
    module_name, _, class_name = target.partition(":")
    if not module_name or not class_name:
        raise ValueError(f"{target!r} is not of the form package.module:Class")
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise ValueError(f"module {module_name!r} does not import: {error}") from error
    processor_class = getattr(module, class_name, None)
    if not isinstance(processor_class, type):
        raise ValueError(f"module {module_name!r} has no class {class_name!r}")
    check_methods(target, processor_class)
    processor: CommitProcessor = processor_class()
    return processor


class BridgedCommitContext:
    """A commit's context over the bridge to the sink; implements `finalization.commit.CommitContext`."""

    def __init__(self, java_context: Any) -> None:
        self._java = java_context
        self._read_state()

    def _read_state(self) -> None:
        state: dict[str, Any] = json.loads(self._java.stateJson())
        self.table: str = state["table"]
        self.branch: str = state["branch"]
        self.job_id: str = state["job_id"]
        self.checkpoint_id: int = state["checkpoint_id"]
        self.snapshot_id: int | None = state["snapshot_id"]
        self.accumulators: Mapping[str, Mapping[str, str]] = state["accumulators"]
        self.properties: Mapping[str, str] = state["properties"]

    @property
    def java_table(self) -> Any:
        """The live Java table, for what this context does not offer."""
        return self._java.table()

    def lineage(self, limit: int) -> list[Snapshot]:
        """Up to `limit` snapshots of the branch in the pinned metadata, newest first."""
        return [Snapshot(**fields) for fields in json.loads(self._java.lineageJson(limit))]

    def set_snapshot_property(self, key: str, value: str) -> None:
        """Set an entry of the coming snapshot's summary; in `pre_commit` only."""
        self._java.setSnapshotProperty(key, value)

    def compare_and_set_properties(self, updates: Mapping[str, str]) -> bool:
        """Set table properties if the table is still the pinned one; False, nothing written, if not."""
        return bool(self._java.compareAndSetProperties(json.dumps(dict(updates))))

    def refresh(self) -> None:
        """Pin the table's newest metadata."""
        self._java.refresh()
        self._read_state()


class EntryPoint:
    """What Java calls."""

    def __init__(self, processor: CommitProcessor) -> None:
        self._processor = processor

    def preCommit(self, java_context: Any) -> None:  # noqa: N802 — a method of the Java interface
        self._processor.pre_commit(BridgedCommitContext(java_context))

    def postCommit(self, java_context: Any) -> None:  # noqa: N802 — a method of the Java interface
        self._processor.post_commit(BridgedCommitContext(java_context))

    class Java:
        implements = (PROCESSOR_INTERFACE,)


def serve(target: str) -> None:
    """Offer the processor over the bridge until standard input closes."""
    from py4j.clientserver import ClientServer, JavaParameters, PythonParameters

    token = sys.stdin.readline().strip()
    announce = sys.stdout
    sys.stdout = sys.stderr  # a processor that prints must not disturb the hand-over of the port
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("py4j").setLevel(logging.WARNING)
    server = ClientServer(
        java_parameters=JavaParameters(auth_token=token),
        python_parameters=PythonParameters(port=0, auth_token=token),
        python_server_entry_point=EntryPoint(load_processor(target)),
    )
    print(server.get_callback_server().get_listening_port(), file=announce, flush=True)
    sys.stdin.read()
    server.shutdown_callback_server()


def main(arguments: list[str]) -> int:
    """Run the worker; with `--check`, only see whether the class loads."""
    if arguments[0] == "--check":
        try:
            load_processor(arguments[1])
        except Exception as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            return 1
        return 0
    serve(arguments[0])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
