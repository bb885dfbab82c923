"""The programs of the pipeline, each a child process with a log of its own: started as a user would."""

import json
import re
import sys
import urllib.request
from pathlib import Path

from demo.settings import UPSERT_EVERY, Settings
from local_stack.process import Child

FINALIZATION = Path(sys.executable).with_name("finalization")
"""The command line of the environment that runs the demo."""

_START_TIMEOUT_S = 180.0
_WEB_PAGE = re.compile(r"^Flink's page (\S+)$", re.MULTILINE)


class FlinkJob:
    """`finalization run`: Kafka to the CDC table, in a small Flink of its own."""

    def __init__(self, settings: Settings) -> None:
        self.child = Child(
            "the Flink job", [FINALIZATION, "run", settings.pipeline_file], settings.log("flink")
        )

    def wait_until_running(self) -> str:
        """Returns the address of Flink's web page. Raises LocalStackError if the job does not start."""
        self.child.wait_ready(self._all_tasks_run, _START_TIMEOUT_S)
        return str(self._web_page())

    def _all_tasks_run(self) -> bool:
        web_page = self._web_page()
        if web_page is None:
            return False
        with urllib.request.urlopen(f"{web_page}/jobs/overview", timeout=10) as answer:
            jobs = json.load(answer)["jobs"]
        return bool(jobs) and all(job["tasks"]["running"] == job["tasks"]["total"] > 0 for job in jobs)

    def _web_page(self) -> str | None:
        found = _WEB_PAGE.search(self.child.log.read_text(errors="replace"))
        return None if found is None else found[1]


def upsert_job(settings: Settings) -> Child:
    """`finalization upsert --every`: the CDC table to the base table, one Spark session for all runs."""
    command: list[str | Path] = [FINALIZATION, "upsert", settings.pipeline_file, "--every", UPSERT_EVERY]
    return Child("the upsert", command, settings.log("upsert"), env={"SPARK_LOCAL_IP": "127.0.0.1"})


def consumer(settings: Settings) -> Child:
    """The batch consumer of `demo.consumer`."""
    hour = f"{settings.consumer_hour:%Y-%m-%dT%H:%MZ}"
    arguments = [str(settings.pipeline_file), hour, str(settings.consumer_report)]
    return Child(
        "the consumer", [sys.executable, "-m", "demo.consumer", *arguments], settings.log("consumer")
    )
