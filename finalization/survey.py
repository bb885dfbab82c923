"""Reads many tables of a catalog in parallel."""

from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from threading import local
from typing import TYPE_CHECKING

from finalization.exceptions import FinalizationError, TableMissingError, UnreadableTableError
from finalization.options import PREFIX
from finalization.status import TableStatus, failed, followed, table_status
from finalization.table_state import TableState

if TYPE_CHECKING:
    from finalization.catalog import FinalizationClient

_FROM_SO_MANY_ON_PARALLEL = 64


def survey(
    open_client: "Callable[[], FinalizationClient]",
    names: list[str] | None,
    pattern: str | None,
    now_ms: int,
) -> Iterator[TableStatus]:
    """Statuses in the order of the names; without names, of all tables that have a watermark or a policy.

    Many tables are read by a process for each core, as parsing metadata is what takes the time; a process
    holds one table's metadata at once. A broken table becomes a status that says so; a named table that is
    not there raises TableMissingError, and an unreachable catalog CatalogUnreachableError.
    """
    client = open_client()
    wanted = client.tables() if names is None else names
    wanted = [name for name in wanted if pattern is None or fnmatchcase(name, pattern)]
    if len(wanted) < _FROM_SO_MANY_ON_PARALLEL:
        statuses: Iterator[TableStatus | None] = (
            _read(client, name, names is not None, now_ms) for name in wanted
        )
    else:
        statuses = _in_parallel(open_client, wanted, names is not None, now_ms)
    return (status for status in statuses if status is not None)


def _in_parallel(
    open_client: "Callable[[], FinalizationClient]", wanted: list[str], named: bool, now_ms: int
) -> Iterator[TableStatus | None]:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context
    from os import cpu_count

    # Forking would share the catalog's open connections between processes.
    workers = min(cpu_count() or 2, 8)
    with ProcessPoolExecutor(workers, get_context("spawn"), _start_worker, (open_client,)) as pool:
        arguments = ((name, named, now_ms) for name in wanted)
        yield from pool.map(_read_in_worker, arguments, chunksize=16)


_worker = local()


def _start_worker(open_client: "Callable[[], FinalizationClient]") -> None:
    _worker.client = open_client()


def _read_in_worker(arguments: tuple[str, bool, int]) -> TableStatus | None:
    return _read(_worker.client, *arguments)


def _read(client: "FinalizationClient", name: str, named: bool, now_ms: int) -> TableStatus | None:
    try:
        state = client.state(name)
    except TableMissingError as e:
        if named:
            raise
        return failed(name, e)  # dropped since it was listed
    except UnreadableTableError as e:
        return failed(name, e)
    if not named and not any(key.startswith(PREFIX) for key in state.properties):
        return None
    try:
        return table_status(state, now_ms, cdc=_followed_state(client, state))
    except FinalizationError as e:
        return failed(name, e)


def _followed_state(client: "FinalizationClient", base: TableState) -> TableState | None:
    name = followed(base)
    try:
        return None if name is None else client.state(name)
    except (TableMissingError, UnreadableTableError):
        return None
