"""A Flink session cluster (JobManager, TaskManager) from PyFlink's own jars, on the loopback interface."""

import json
import os
import sys
import urllib.request
from importlib.util import find_spec
from pathlib import Path
from typing import Self

import yaml

from finalization.jars import class_path
from local_stack.exceptions import LocalStackError
from local_stack.ports import LOOPBACK, free_port
from local_stack.process import Child

_START_TIMEOUT_S = 120.0
_JOB_MANAGER = "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint"
_TASK_MANAGER = "org.apache.flink.runtime.taskexecutor.TaskManagerRunner"


class FlinkCluster:
    """A cluster that jobs are submitted to, with the class path that this project's jobs need."""

    def __init__(self, directory: Path, slots: int = 4) -> None:
        self.directory = directory
        self.port = free_port()
        self._settings = {
            "jobmanager.rpc.address": LOOPBACK,
            "jobmanager.rpc.port": free_port(),
            "jobmanager.bind-host": LOOPBACK,
            "jobmanager.memory.process.size": "1g",
            "taskmanager.host": LOOPBACK,
            "taskmanager.bind-host": LOOPBACK,
            "taskmanager.memory.process.size": "1600m",
            "taskmanager.numberOfTaskSlots": slots,
            "rest.address": LOOPBACK,
            "rest.bind-address": LOOPBACK,
            "rest.port": self.port,
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": 100,
            "restart-strategy.fixed-delay.delay": "1 s",
            "heartbeat.timeout": "8 s",
            "heartbeat.interval": "2 s",
        }
        self._job_manager: Child | None = None
        self.task_manager: Child | None = None

    @property
    def address(self) -> str:
        """`host:port` of the REST interface and the web page."""
        return f"{LOOPBACK}:{self.port}"

    def start(self) -> Self:
        """Starts both processes and waits until the slots are there."""
        conf = self.directory / "conf"
        conf.mkdir(parents=True, exist_ok=True)
        (conf / "config.yaml").write_text(yaml.safe_dump(self._settings))
        self._job_manager = self._child("jobmanager", _JOB_MANAGER).start()
        self.start_task_manager()
        return self

    def start_task_manager(self) -> None:
        """Starts a TaskManager, also after one was killed, and waits until its slots are there."""
        self.task_manager = self._child("taskmanager", _TASK_MANAGER).start()
        self.task_manager.wait_ready(self._has_slots, _START_TIMEOUT_S)

    def stop(self) -> None:
        for child in (self.task_manager, self._job_manager):
            if child is not None:
                child.stop()

    def jobs(self) -> dict[str, str]:
        """Status by job id."""
        return {job["id"]: job["status"] for job in self._get("/jobs")["jobs"]}

    def _has_slots(self) -> bool:
        try:
            return bool(self._get("/overview")["slots-total"])
        except OSError:
            return False

    def _get(self, path: str) -> dict[str, list[dict[str, str]]]:
        with urllib.request.urlopen(f"http://{self.address}{path}", timeout=10) as answer:
            content: dict[str, list[dict[str, str]]] = json.load(answer)
        return content

    def _child(self, name: str, main_class: str) -> Child:
        conf = self.directory / "conf"
        command: list[str | Path] = [
            "java",
            "-Xmx700m",
            "-XX:+UseSerialGC",
            # As Flink's own start scripts do: user objects are serialized by reflection.
            *(
                f"--add-opens=java.base/{p}=ALL-UNNAMED"
                for p in ("java.util", "java.lang", "java.time", "java.nio")
            ),
            "-cp",
            os.pathsep.join([str(_flink_home() / "lib" / "*"), class_path("hadoop")]),
            main_class,
            "--configDir",
            conf,
        ]
        if main_class == _TASK_MANAGER:
            # What the start script works out from the process size; here the heap is bounded above.
            command += [f"-D{key}={value}" for key, value in _TASK_MANAGER_MEMORY.items()]
        # Python commit processors run with the interpreter that python3 is on the worker's path.
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        return Child(name, command, self.directory / "log" / f"{name}.log", env={"PATH": path})


_TASK_MANAGER_MEMORY = {
    "taskmanager.cpu.cores": "2.0",
    "taskmanager.memory.framework.heap.size": "128m",
    "taskmanager.memory.framework.off-heap.size": "128m",
    "taskmanager.memory.task.heap.size": "500m",
    "taskmanager.memory.task.off-heap.size": "0b",
    "taskmanager.memory.managed.size": "128m",
    "taskmanager.memory.network.min": "64m",
    "taskmanager.memory.network.max": "64m",
    "taskmanager.memory.jvm-metaspace.size": "256m",
    "taskmanager.memory.jvm-overhead.min": "192m",
    "taskmanager.memory.jvm-overhead.max": "192m",
}


def _flink_home() -> Path:
    spec = find_spec("pyflink")
    if spec is None or not spec.submodule_search_locations:
        raise LocalStackError("PyFlink is not installed; run `make setup`")
    return Path(spec.submodule_search_locations[0])
