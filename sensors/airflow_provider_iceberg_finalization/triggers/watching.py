"""What the event triggers share: a place in a table's history that survives restarts, and no event lost."""

import logging
from abc import abstractmethod
from collections.abc import AsyncIterator, Hashable, Sequence
from typing import Any

from airflow.triggers.base import BaseEventTrigger, TriggerEvent
from airflow.triggers.shared_stream import AdvanceItem, SharedStreamProducer

from airflow_provider_iceberg_finalization.connection import DEFAULT_CONNECTION
from airflow_provider_iceberg_finalization.lookup.look import TableLook
from airflow_provider_iceberg_finalization.lookup.lookout import shared_lookout
from finalization.exceptions import ConfigurationError
from finalization.table_state import MAIN

_log = logging.getLogger(__name__)

# What the accessor of several assets answers, which have one trigger if they watch with the same arguments.
_MANY_ASSETS = "concrete inlets and outlets"


class Sighting:
    """A look on its way through the triggerer; `cursor` is what to remember once its events are stored."""

    def __init__(self, look: TableLook) -> None:
        self.look = look
        self.trigger: TableWatcher | None = None
        self.cursor: str | None = None

    async def commit(self) -> None:
        """Called when all events of the look are in Airflow's database."""
        if self.trigger is not None and self.cursor is not None:
            await self.trigger.save_cursor(self.cursor)


class TableWatcher(BaseEventTrigger):
    """
    Looks at one table and turns news into events, in order.

    The cursor lies in the asset's state store. It moves after Airflow has stored the events, never before
    (the triggerer's ack mode for shared streams, of which each trigger has one of its own): a restart at
    any moment loses nothing, and repeats an event only if the triggerer is killed in the second or two
    between storing it and moving the cursor.
    """

    cursor_kind: str
    asset_state_store: Any  # given by the triggerer before the first event is asked for

    def __init__(
        self,
        *,
        table: str,
        iceberg_conn_id: str = DEFAULT_CONNECTION,
        branch: str = MAIN,
        poke_interval: float = 60,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if "." not in table.strip("."):
            raise ConfigurationError(f"table is '{table}'; expected its full name, namespace.table")
        self.table = table
        self.iceberg_conn_id = iceberg_conn_id
        self.branch = branch
        self.poke_interval = poke_interval
        self._stored_cursor: str | None = None

    @abstractmethod
    def news(self, look: TableLook, cursor: str | None) -> tuple[list[dict[str, Any]], str | None]:
        """The payloads of what is new since `cursor` (None: the first look ever), and the cursor after it."""

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return (
            f"{type(self).__module__}.{type(self).__qualname__}",
            {
                "table": self.table,
                "iceberg_conn_id": self.iceberg_conn_id,
                "branch": self.branch,
                "poke_interval": self.poke_interval,
            },
        )

    def shared_stream_key(self) -> Hashable:
        classpath, kwargs = self.serialize()
        return (classpath, *(f"{key}={value}" for key, value in sorted(kwargs.items())))

    @classmethod
    def create_shared_stream_producer(cls, kwargs: dict[str, Any]) -> "SharedStreamProducer":
        return _Sightings(cls(**kwargs))

    async def filter_shared_stream(
        self, shared_stream: AsyncIterator[Sighting]
    ) -> AsyncIterator[TriggerEvent]:
        cursor = await self._load_cursor()
        async for sighting in shared_stream:
            payloads, cursor = self.news(sighting.look, cursor)
            sighting.trigger, sighting.cursor = self, cursor
            for payload in payloads:
                self.log.info("%s", payload)
                yield TriggerEvent(payload)

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Where the triggerer has no shared streams: the cursor moves once it took the events from here."""
        cursor = await self._load_cursor()
        async for look in self._looks():
            payloads, cursor = self.news(look, cursor)
            for payload in payloads:
                yield TriggerEvent(payload)
            if cursor is not None:
                await self.save_cursor(cursor)

    async def save_cursor(self, cursor: str) -> None:
        """Moves the cursor; no-op where there is no store, or where it is there already."""
        if self.asset_state_store is not None and cursor != self._stored_cursor:
            await self.asset_state_store.aset(self._cursor_key, cursor)
        self._stored_cursor = cursor

    @property
    def _cursor_key(self) -> str:
        return f"finalization.{self.cursor_kind}:{self.table}@{self.branch}"

    async def _load_cursor(self) -> str | None:
        store = self.asset_state_store
        if store is not None:
            try:
                self._stored_cursor = await store.aget(self._cursor_key)
            except ValueError as e:
                if _MANY_ASSETS not in str(e):
                    raise
                store = self.asset_state_store = None
        if store is None:
            self.log.warning(
                "%s: no asset state store (or several assets share this trigger): a restart begins as the "
                "first start does",
                self.table,
            )
        return self._stored_cursor

    async def _looks(self) -> AsyncIterator[TableLook]:
        """Looks that differ from the one before. Never ends: whatever is wrong may be put right."""
        newest: TableLook | None = None
        problem = ""
        async with shared_lookout().watch(
            self.iceberg_conn_id, [self.table], self.branch, self.poke_interval
        ) as subscription:
            while True:
                _, outcome = await subscription.next()
                if isinstance(outcome, Exception):
                    if problem != str(outcome):
                        problem = str(outcome)
                        _log.warning("%s: %s", self.table, problem)
                elif outcome is not newest:
                    newest, problem = outcome, ""
                    yield outcome


class _Sightings(SharedStreamProducer):
    """The stream behind one trigger. `advance` is called when all events of a look are stored."""

    def __init__(self, watcher: TableWatcher) -> None:
        self._watcher = watcher

    async def open_stream(self) -> AsyncIterator[tuple[Sighting, Sighting]]:
        async for look in self._watcher._looks():
            sighting = Sighting(look)
            yield sighting, sighting

    async def advance(self, batch: Sequence[AdvanceItem]) -> None:
        for sighting, outcome in batch:
            if not outcome.is_clean:
                # Later looks must not move the cursor past what was not stored: begin again from the cursor.
                raise RuntimeError(f"events of {self._watcher.table} were not stored; beginning again")
            await sighting.commit()
