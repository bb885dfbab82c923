"""The trigger behind a deferred sensor."""

import time
from collections.abc import AsyncIterator
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_provider_iceberg_finalization.connection import DEFAULT_CONNECTION
from airflow_provider_iceberg_finalization.instants import read_until
from airflow_provider_iceberg_finalization.lookup.lookout import shared_lookout
from airflow_provider_iceberg_finalization.waiting import Ending, Terms, Wait
from finalization.table_state import MAIN
from finalization.times import format_instant


class FinalizationTrigger(BaseTrigger):
    """
    Fires once, when every table is final up to `until`, or when waiting on makes no sense.

    Each look compares the place of a table's metadata with the last one and reads it only if it is new; all
    triggers of one triggerer that wait for a table share its looks. A missing table or watermark means *not
    yet*. A restart of the triggerer begins anew, which changes nothing: W never goes back.

    The event holds `status` (`final`, `late`, `mistake`, `unreachable`), `message`, `until` and
    `watermarks` (table → ISO-8601 or None).

    :param tables: full names, `namespace.table`.
    :param until: ISO-8601 with a zone; exclusive end of what must be final.
    :param iceberg_conn_id: connection of type `iceberg`.
    :param branch: branch whose watermark counts.
    :param max_late: at most so many late records in the last partition before `until`; None: any number.
    :param late_table: where late records are counted, if not in `tables`.
    :param poke_interval: seconds between looks.
    :param patience: seconds an unreachable catalog is tried again; None: for ever.
    :param must_exist: a missing table ends the wait.
    """

    def __init__(
        self,
        *,
        tables: list[str],
        until: str,
        iceberg_conn_id: str = DEFAULT_CONNECTION,
        branch: str = MAIN,
        max_late: int | None = None,
        late_table: str | None = None,
        poke_interval: float = 60,
        patience: float | None = 60,
        must_exist: bool = False,
    ) -> None:
        super().__init__()
        self.terms = Terms(
            tuple(tables), read_until(until), branch, max_late, late_table, patience, must_exist
        )
        self.iceberg_conn_id = iceberg_conn_id
        self.poke_interval = poke_interval

    def serialize(self) -> tuple[str, dict[str, Any]]:
        terms = self.terms
        return (
            f"{type(self).__module__}.{type(self).__qualname__}",
            {
                "tables": list(terms.tables),
                "until": format_instant(terms.until_ms),
                "iceberg_conn_id": self.iceberg_conn_id,
                "branch": terms.branch,
                "max_late": terms.max_late,
                "late_table": terms.late_table,
                "poke_interval": self.poke_interval,
                "patience": terms.patience_s,
                "must_exist": terms.must_exist,
            },
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        yield TriggerEvent((await self._ending()).to_json())

    async def _ending(self) -> Ending:
        wait = Wait(self.terms)
        looked_at, branch = self.terms.looked_at, self.terms.branch
        async with shared_lookout().watch(
            self.iceberg_conn_id, looked_at, branch, self.poke_interval
        ) as subscription:
            while True:
                table, outcome = await subscription.next()
                now = time.monotonic()
                failure = outcome if isinstance(outcome, Exception) else None
                (self.log.warning if failure else self.log.info)(wait.see(table, outcome, now))
                ending = wait.ending(failure, now)
                if ending is not None:
                    return ending
