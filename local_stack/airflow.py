"""A real Airflow of local processes: API server, scheduler, DAG processor and triggerer."""

import json
import secrets
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from local_stack.exceptions import LocalStackError
from local_stack.ports import LOOPBACK, free_port
from local_stack.process import Child
from local_stack.waiting import wait_until

_PATIENCE_S = 30.0
_START_TIMEOUT_S = 180.0
_MIGRATE_TIMEOUT_S = 180.0


class Airflow:
    """Airflow with SQLite and local tasks; its page and API are at `url`, on the loopback interface.

    `program` is the `airflow` command of the environment it runs in. Files and logs are under `directory`.
    `environment` adds to each process's variables, connections for instance. Whoever opens the page is admin.
    """

    def __init__(
        self, program: Path, directory: Path, dags: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self.directory = directory
        self.port = free_port()
        self._program = program
        self._environment = {**self._settings(dags), **(environment or {})}
        self._token = ""
        self._parts = {
            "api-server": self._child("api-server", "api-server", "--workers", "1"),
            "scheduler": self._child("scheduler", "scheduler", "--skip-serve-logs"),
            "dag-processor": self._child("dag-processor"),
            "triggerer": self._child("triggerer", "triggerer", "--skip-serve-logs"),
        }

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def triggerer(self) -> Child:
        """May be stopped, killed and started again."""
        return self._parts["triggerer"]

    def start(self) -> Self:
        """Makes the database and starts all parts. Raises LocalStackError."""
        try:
            with self._child("migrate", "db", "migrate") as migration:
                if migration.wait(_MIGRATE_TIMEOUT_S):
                    raise LocalStackError(f"Airflow's database could not be made. {migration.log_tail()}")
            # Tasks report to the server from their first moment: it must answer before any is started.
            self._parts["api-server"].start().wait_ready(self._answers, _START_TIMEOUT_S)
            for name in ("scheduler", "dag-processor", "triggerer"):
                self._parts[name].start()
            self._parts["scheduler"].wait_ready(self._healthy, _START_TIMEOUT_S)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Ends all parts; the triggerer and the scheduler before the server that they talk to."""
        for part in reversed(self._parts.values()):
            part.stop()

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Calls the public API, `path` after `/api/v2`. Raises urllib.error.HTTPError.

        A reading call is repeated while the server fails: on SQLite, Airflow answers 500 when its database
        stays locked by another of its parts.
        """
        if not self._token:
            self._token = self._request("GET", "/auth/token", None)["access_token"]
        if method != "GET":
            return self._request(method, f"/api/v2{path}", body)

        def answer() -> tuple[Any] | None:
            try:
                return (self._request(method, f"/api/v2{path}", None),)
            except urllib.error.HTTPError as e:
                if e.code < 500:
                    raise
                return None

        return wait_until(answer, _PATIENCE_S, f"Airflow answers {path}", 1.0)[0]

    def wait_for_dag(self, dag: str, timeout_s: float = 120.0) -> None:
        """Waits until the DAG's file is read."""

        def known() -> bool:
            try:
                self.call("GET", f"/dags/{dag}")
            except urllib.error.HTTPError as e:
                if e.code != 404:
                    raise
                return False
            return True

        wait_until(known, timeout_s, f"the DAG {dag} is read", 1.0)

    def trigger(self, dag: str, conf: Mapping[str, Any] | None = None) -> str:
        """Starts a run; returns its id."""
        run: str = self.call("POST", f"/dags/{dag}/dagRuns", {"logical_date": None, "conf": conf or {}})[
            "dag_run_id"
        ]
        return run

    def runs(self, dag: str) -> list[dict[str, Any]]:
        """The DAG's runs, oldest first, as the API tells them."""
        runs: list[dict[str, Any]] = self.call("GET", f"/dags/{dag}/dagRuns?order_by=id")["dag_runs"]
        return runs

    def task_state(self, dag: str, run: str, task: str) -> str | None:
        """`deferred`, `success`, …; None for a task that has not begun."""
        state: str | None = self.call("GET", f"/dags/{dag}/dagRuns/{run}/taskInstances/{task}")["state"]
        return state

    def _child(self, name: str, *arguments: str) -> Child:
        return Child(
            f"airflow {name}",
            [self._program, *(arguments or (name,))],
            self.directory / "log" / f"{name}.log",
            env=self._environment,
            cwd=self.directory,
        )

    def _settings(self, dags: Path) -> dict[str, str]:
        self.directory.mkdir(parents=True, exist_ok=True)
        settings: dict[str, dict[str, Any]] = {
            "core": {
                "dags_folder": dags,
                "load_examples": False,
                "dags_are_paused_at_creation": False,
                "executor": "LocalExecutor",
                "parallelism": 4,
                "execution_api_server_url": f"{self.url}/execution/",
                "simple_auth_manager_all_admins": True,
                "hostname_callable": "socket.gethostname",
                "dagbag_import_timeout": 120,
            },
            "database": {"sql_alchemy_conn": f"sqlite:///{self.directory}/airflow.db"},
            "api": {
                "host": LOOPBACK,
                "port": self.port,
                "base_url": self.url,
                "secret_key": secrets.token_hex(16),
            },
            "api_auth": {"jwt_secret": secrets.token_hex(32)},
            "dag_processor": {"refresh_interval": 10, "parsing_processes": 1},
            "scheduler": {"enable_health_check": False, "use_job_schedule": True},
            "logging": {"trigger_log_server_port": free_port(), "worker_log_server_port": free_port()},
            "usage_data_collection": {"enabled": False},
        }
        variables = {
            f"AIRFLOW__{section.upper()}__{key.upper()}": str(value)
            for section, keys in settings.items()
            for key, value in keys.items()
        }
        # Loopback is never behind a proxy.
        return {"AIRFLOW_HOME": str(self.directory), "NO_PROXY": LOOPBACK, "no_proxy": LOOPBACK, **variables}

    def _answers(self) -> Any:
        return self._health() is not None

    def _healthy(self) -> bool:
        health = self._health() or {}
        return all(
            (health.get(part) or {}).get("status") == "healthy"
            for part in ("scheduler", "triggerer", "dag_processor")
        )

    def _health(self) -> dict[str, Any] | None:
        try:
            health: dict[str, Any] = self._request("GET", "/api/v2/monitor/health", None)
        except OSError:
            return None
        return health

    def _request(self, method: str, path: str, body: Mapping[str, Any] | None) -> Any:
        request = urllib.request.Request(
            self.url + path,
            None if body is None else json.dumps(body).encode(),
            {"Content-Type": "application/json", "Authorization": f"Bearer {self._token}"},
            method=method,
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=30) as response:
            return json.load(response)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()
