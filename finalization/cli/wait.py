"""`finalization wait`: blocks until partitions are final."""

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from finalization.cli import output
from finalization.cli.options import (
    BranchOption,
    CatalogOption,
    JsonOption,
    PipelineOption,
    PropertyOption,
    open_client,
    read_instant,
    read_interval,
)
from finalization.exceptions import CatalogUnreachableError, ConfigurationError, TableMissingError
from finalization.times import format_instant

if TYPE_CHECKING:
    from finalization.catalog import FinalizationClient


def register(app: typer.Typer) -> None:
    app.command("wait")(wait)


def wait(
    tables: Annotated[
        list[str], typer.Argument(help="Full names; all of them must be final.", metavar="TABLE…")
    ],
    until: Annotated[
        str, typer.Option(help="The instant to be final up to: an hour's end, such as 2013-01-01T10:00Z.")
    ],
    timeout: Annotated[
        str | None,
        typer.Option(help="Give up after this long, such as 30m. Without it: never.", show_default=False),
    ] = None,
    poll: Annotated[str, typer.Option(help="How often to look.")] = "5s",
    must_exist: Annotated[
        bool,
        typer.Option("--must-exist", help="A missing table is an error at once: it is not about to be made."),
    ] = False,
    patience: Annotated[str, typer.Option(help="How long an unreachable catalog is tried again.")] = "60s",
    branch: BranchOption = "main",
    json: JsonOption = False,
    pipeline: PipelineOption = None,
    catalog: CatalogOption = None,
    properties: PropertyOption = None,
) -> None:
    """Wait until every event time before --until is final in all tables.

    A table or watermark that is not there yet is waited for. Exit codes: 0 final; 3 timed out; 4 there is
    no such table (at the timeout, or at once with --must-exist); 5 the catalog is unreachable; 2 a wrong
    option.
    """
    wanted = read_instant(until, "--until")
    assert wanted is not None
    waiting = _Wait(tables, wanted, branch, must_exist)
    clock = time.monotonic
    timeout_ms = read_interval(timeout, "--timeout")
    deadline = None if timeout_ms is None else clock() + timeout_ms / 1000
    poll_s = max(0.05, (read_interval(poll, "--poll") or 0) / 1000)
    patience_s = (read_interval(patience, "--patience") or 0) / 1000
    client: FinalizationClient | None = None
    unreachable_since: float | None = None
    while True:
        try:
            client = client or open_client(pipeline, catalog, properties)
            waiting.look(client)
            unreachable_since = None
            if waiting.done:
                break
        except CatalogUnreachableError as e:
            unreachable_since = unreachable_since or clock()
            timed_out = deadline is not None and clock() >= deadline
            if timed_out or clock() - unreachable_since >= patience_s:
                _end(waiting, json, output.UNREACHABLE, str(e))
        if deadline is not None and clock() >= deadline:
            missing = waiting.missing
            code = output.NO_SUCH_TABLE if missing else output.TIMED_OUT
            _end(waiting, json, code, missing or f"timed out after {timeout}: {waiting.describe()}")
        pause = poll_s if deadline is None else min(poll_s, max(0.0, deadline - clock()))
        time.sleep(pause)
    _end(waiting, json, output.FINAL, "")


class _Wait:
    """The tables still waited for, and what was last seen of each."""

    def __init__(self, tables: list[str], wanted: int, branch: str, must_exist: bool) -> None:
        for table in tables:
            if "." not in table:
                raise ConfigurationError(f"table is '{table}'; expected its full name, namespace.table")
        self.wanted = wanted
        self.seen: dict[str, int | None] = dict.fromkeys(tables)
        self._absent: dict[str, TableMissingError] = {}
        self._branch = branch
        self._must_exist = must_exist

    def look(self, client: "FinalizationClient") -> None:
        for table, seen in self.seen.items():
            if seen is not None and seen >= self.wanted:
                continue  # never goes back: no need to look again
            try:
                self.seen[table] = client.state(table).watermark_ms(self._branch)
                self._absent.pop(table, None)
            except TableMissingError as e:
                if self._must_exist:
                    raise
                self._absent[table] = e

    @property
    def done(self) -> bool:
        return all(seen is not None and seen >= self.wanted for seen in self.seen.values())

    @property
    def missing(self) -> str:
        return "; ".join(str(e) for e in self._absent.values())

    def describe(self) -> str:
        return ", ".join(
            f"{table} is final up to {output.instant(seen)}" for table, seen in self.seen.items()
        )


def _end(waiting: _Wait, json: bool, code: int, problem: str) -> None:
    if json:
        result: dict[str, Any] = {
            "final": code == output.FINAL,
            "until": format_instant(waiting.wanted),
            "watermarks": {
                table: None if seen is None else format_instant(seen) for table, seen in waiting.seen.items()
            },
        }
        if problem:
            result["error"] = problem
        output.print_json(result)
    elif code == output.FINAL:
        typer.echo(f"final: {waiting.describe()}")
    if problem and not json:
        typer.echo(f"error: {problem}", err=True)
    raise typer.Exit(code)
