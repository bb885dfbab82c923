"""One lookup for all who wait for a table in this process, and threads of its own for each catalog."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from contextvars import copy_context
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from airflow_provider_iceberg_finalization.connection import open_client
from airflow_provider_iceberg_finalization.lookup.look import TableLook
from airflow_provider_iceberg_finalization.lookup.reader import Seen, TableReader
from finalization.exceptions import ConfigurationError, UnreadableTableError

if TYPE_CHECKING:
    from finalization.catalog import FinalizationClient

OpenClient = Callable[[str], "FinalizationClient"]
Outcome = TableLook | Exception
"""A look, or why there is none."""

_THREADS_PER_CATALOG = 4


class Lookout:
    """Polls tables for subscribers in one event loop.

    Each table is looked at once an interval, the shortest its subscribers ask for, however many they are.
    Each connection has a few threads of its own, so that a catalog that hangs holds up only those who wait
    for its tables.
    """

    def __init__(self, opener: OpenClient = open_client) -> None:
        self._open = opener
        self._catalogs: dict[str, _Catalog] = {}
        self._polls: dict[tuple[str, str, str], _Poll] = {}

    @asynccontextmanager
    async def watch(
        self, connection: str, tables: Iterable[str], branch: str, interval_s: float
    ) -> "AsyncIterator[Subscription]":
        """Subscribes to the looks at some tables of one catalog."""
        subscription = Subscription(interval_s)
        keys = [(connection, table, branch) for table in tables]
        try:
            for key in keys:
                self._poll(key).join(subscription)
            yield subscription
        finally:
            for key in keys:
                self._leave(key, subscription)

    def _poll(self, key: tuple[str, str, str]) -> "_Poll":
        if key not in self._polls:
            connection, table, branch = key
            catalog = self._catalogs.setdefault(connection, _Catalog(connection, self._open))
            self._polls[key] = _Poll(catalog, table, branch)
        return self._polls[key]

    def _leave(self, key: tuple[str, str, str], subscription: "Subscription") -> None:
        poll = self._polls.get(key)
        if poll is not None and poll.leave(subscription):
            del self._polls[key]
            if not any(connection == key[0] for connection, _, _ in self._polls):
                self._catalogs.pop(key[0]).close()


class Subscription:
    """Looks as they come; one who is slow gets the newest of each table, as watermarks only go forward."""

    def __init__(self, interval_s: float) -> None:
        self.interval_s = interval_s
        self._inbox: dict[str, Outcome] = {}
        self._filled = asyncio.Event()

    def put(self, table: str, outcome: Outcome) -> None:
        """Called for each look."""
        self._inbox[table] = outcome
        self._filled.set()

    async def next(self) -> tuple[str, Outcome]:
        """A table and its newest look, once for each look."""
        await self._filled.wait()
        table = next(iter(self._inbox))
        outcome = self._inbox.pop(table)
        if not self._inbox:
            self._filled.clear()
        return table, outcome


class _Poll:
    """The looks at one table."""

    def __init__(self, catalog: "_Catalog", table: str, branch: str) -> None:
        self._catalog = catalog
        self._table = table
        self._branch = branch
        self._newest: Outcome | None = None
        self._subscribers: set[Subscription] = set()
        self._sooner = asyncio.Event()
        self._task = asyncio.create_task(self._run(), name=f"looks at {table}")

    def join(self, subscription: Subscription) -> None:
        self._subscribers.add(subscription)
        self._sooner.set()
        if self._newest is not None:
            subscription.put(self._table, self._newest)

    def leave(self, subscription: Subscription) -> bool:
        """Ends the polling with the last one; says whether it did."""
        self._subscribers.discard(subscription)
        if self._subscribers:
            return False
        self._task.cancel()
        self._catalog.forget(self._table, self._branch)
        return True

    async def _run(self) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            started = clock()
            try:
                self._newest = await self._catalog.look(self._table, self._branch)
            except Exception as e:
                self._newest = e
            for subscription in self._subscribers:
                subscription.put(self._table, self._newest)
            await self._pause_until(started)

    async def _pause_until(self, started: float) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            self._sooner.clear()
            rest = started + min(s.interval_s for s in self._subscribers) - clock()
            if rest <= 0:
                return
            try:
                async with asyncio.timeout(rest):
                    await self._sooner.wait()
            except TimeoutError:
                return


class _Catalog:
    """One connection's client and threads."""

    def __init__(self, connection: str, opener: OpenClient) -> None:
        self._connection = connection
        self._open = opener
        self._opening = Lock()
        self._reader: TableReader | None = None
        self._seen: Seen = {}
        self._threads = ThreadPoolExecutor(_THREADS_PER_CATALOG, thread_name_prefix=f"iceberg-{connection}")

    async def look(self, table: str, branch: str) -> TableLook:
        # With the caller's context: Airflow keeps in it what connections are looked up with.
        call = partial(copy_context().run, self._look, table, branch)
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    def forget(self, table: str, branch: str) -> None:
        self._seen.pop((table, branch), None)

    def close(self) -> None:
        # Not waiting: a thread may hang in a catalog that does not answer.
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _look(self, table: str, branch: str) -> TableLook:
        reader = self._reader
        if reader is None:
            with self._opening:
                reader = self._reader = self._reader or TableReader(self._open(self._connection), self._seen)
        try:
            return reader.look(table, branch)
        except (ConfigurationError, UnreadableTableError):
            raise  # the table's fault, not the client's
        except Exception:
            self._reader = None  # opened anew: the address or the credentials may have been corrected
            raise


_lookouts: WeakKeyDictionary[asyncio.AbstractEventLoop, Lookout] = WeakKeyDictionary()


def shared_lookout() -> Lookout:
    """The one of the running event loop: in a triggerer there is one loop, and so one lookout."""
    return _lookouts.setdefault(asyncio.get_running_loop(), Lookout())
