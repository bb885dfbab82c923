"""`python -m demo.airflow_demo`: the demo with a real Airflow that is released by the base table's W."""

import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from rich.console import Console

from demo.__main__ import main
from demo.checks import Check, consumer_read_complete_hour
from demo.consumer import Report
from demo.lake import Lake
from demo.run import Demo
from demo.settings import Settings, write_pipeline
from demo.view import hour_range
from local_stack.airflow import Airflow

_REPOSITORY = Path(__file__).parent.parent
_PROGRAM = _REPOSITORY / ".venv-airflow" / "bin" / "airflow"
_DAG = "flights_by_hour"
_HOURS = 4
_RUNS_TIMEOUT_S = 180.0
_LOOK_EVERY_S = 2.0


class AirflowDemo(Demo):
    """Adds Airflow, started before the data flows, and checks what its tasks read."""

    def __init__(self, settings: Settings, console: Console) -> None:
        super().__init__(settings, console)
        pipeline = write_pipeline(settings, self._stack.kafka.bootstrap)
        Lake(pipeline)  # makes the catalog, so that the DAG's sensors find one without tables
        # Airflow's environment has no pyarrow: said here, pyiceberg does not look for it each time.
        extra = {
            **pipeline.catalog.pyiceberg_properties(),
            "catalog-name": pipeline.catalog.name,
            "py-io-impl": "pyiceberg.io.fsspec.FsspecFileIO",
        }
        environment = {
            "AIRFLOW_CONN_ICE": json.dumps({"conn_type": "iceberg", "extra": extra}),
            "DEMO_FIRST_HOUR": settings.consumer_hour.isoformat(),
            "DEMO_PYTHON": sys.executable,
            "DEMO_DIRECTORY": str(settings.directory),
            "DEMO_REPOSITORY": str(_REPOSITORY),
        }
        dags = Path(__file__).parent / "dags"
        self._airflow = Airflow(_PROGRAM, settings.directory / "airflow", dags, environment)

    def _set_up(self, say: Callable[[str], None]) -> None:
        say("Starting Airflow (about a minute)")
        self._running.enter_context(self._airflow)
        self._airflow.wait_for_dag(_DAG)
        say(f"Airflow's page is {self._airflow.url}/dags/{_DAG}")
        super()._set_up(say)

    def print_addresses(self) -> None:
        super().print_addresses()
        self._console.print(f"Airflow: {self._airflow.url}", highlight=False)

    def _drain(self) -> None:
        super()._drain()
        deadline = time.monotonic() + _RUNS_TIMEOUT_S
        while not self._runs_done():
            if time.monotonic() > deadline:
                self._display.say("Not all of Airflow's runs ended in time; the checks say what is missing.")
                return
            self._display.show(self._observer.look())
            time.sleep(_LOOK_EVERY_S)

    def _runs_done(self) -> bool:
        runs = self._airflow.runs(_DAG)
        return len(runs) == _HOURS and all(run["state"] in ("success", "failed") for run in runs)

    def _check(self) -> list[Check]:
        tables = self._pipeline.tables
        base, cdc = (self._lake.table(name) for name in (tables.base, tables.cdc))
        results = super()._check()
        if base is None or cdc is None:
            return results
        for number in range(_HOURS):
            hour = self._settings.consumer_hour + timedelta(hours=number)
            check = consumer_read_complete_hour(self._report_of(hour), hour, base, cdc)
            results.append(
                replace(check, statement=f"Airflow's task read a complete hour, {hour_range(hour)}")
            )
        return results

    def _report_of(self, hour: datetime) -> Report | None:
        return Report.load(self._settings.directory / f"airflow-{hour:%Y%m%dT%H}.json")


if __name__ == "__main__":
    sys.exit(main(AirflowDemo))
