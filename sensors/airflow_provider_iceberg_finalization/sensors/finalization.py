"""The sensor a DAG's author adds."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseSensorOperator
from airflow.sdk.bases.sensor import PokeReturnValue
from airflow.sdk.configuration import conf
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from airflow_provider_iceberg_finalization.connection import DEFAULT_CONNECTION, open_client
from airflow_provider_iceberg_finalization.instants import read_until
from airflow_provider_iceberg_finalization.lookup.look import TableLook
from airflow_provider_iceberg_finalization.lookup.reader import TableReader
from airflow_provider_iceberg_finalization.triggers.finalization import FinalizationTrigger
from airflow_provider_iceberg_finalization.waiting import Ending, Status, Terms, Wait
from finalization.exceptions import CatalogUnreachableError, ConfigurationError
from finalization.table_state import MAIN
from finalization.times import format_instant

if TYPE_CHECKING:
    from airflow.sdk import Context
_RETRY_S = 5.0
"""How soon an unreachable catalog is tried again within one poke."""


class FinalizationSensor(BaseSensorOperator):
    """
    Succeeds once every event before `until` is final in every table.

    It reads the watermark W that the streaming job, or the upsert, keeps in the table's properties, and waits
    for W ≥ `until`. A missing table or watermark is *not yet*::

        wait = FinalizationSensor(
            task_id="wait_for_flights",
            table="lake.flights",
            until="{{ data_interval_end }}",
            iceberg_conn_id="ice",
            deferrable=True,
        )

    The answer is the same in mode `poke`, in mode `reschedule` and deferred, and so is the XCom value: a
    dictionary of `status`, `message`, `until` and `watermarks` (table → ISO-8601). Each look writes one line
    to the task's log: W, what is awaited, the gap, and the reason W stands where it stands.

    A wait that cannot succeed any more (too many late records, a mistake in the parameters) fails without
    retries, or skips with `soft_fail`; an unreachable catalog fails after `patience`, with retries.

    :param table: full name, `namespace.table`, or a list of them; all must be final. Templated.
    :param until: an instant with a zone, as text or datetime; exclusive. Templated.
    :param iceberg_conn_id: connection of type `iceberg`. Templated.
    :param branch: branch whose watermark counts.
    :param max_late: proceed only if at most so many records came late into the last partition before `until`
        since it became final. None: do not ask.
    :param late_table: the table whose commits count late records, where `table` is one that an upsert writes.
        Templated.
    :param patience: seconds an unreachable catalog is tried again before the task fails. `silent_fail`:
        for ever.
    :param must_exist: a missing table is a mistake at once, not something that comes later.
    :param deferrable: wait in the triggerer, without a worker slot. Default: what `[operators]
        default_deferrable` says.
    """

    template_fields: Sequence[str] = ("table", "until", "iceberg_conn_id", "late_table")
    ui_color = "#d7ecd9"

    def __init__(
        self,
        *,
        table: str | Sequence[str],
        until: str | datetime = "{{ data_interval_end }}",
        iceberg_conn_id: str = DEFAULT_CONNECTION,
        branch: str = MAIN,
        max_late: int | None = None,
        late_table: str | None = None,
        patience: float | timedelta = 60.0,
        must_exist: bool = False,
        deferrable: bool | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.table = table
        self.until = until
        self.iceberg_conn_id = iceberg_conn_id
        self.branch = branch
        self.max_late = max_late
        self.late_table = late_table
        self.patience = patience.total_seconds() if isinstance(patience, timedelta) else float(patience)
        self.must_exist = must_exist
        if deferrable is None:
            deferrable = conf.getboolean("operators", "default_deferrable", fallback=False)
        self.deferrable = deferrable
        self._reader: TableReader | None = None  # kept between the pokes of one process

    def execute(self, context: "Context") -> Any:
        """One look, then deferral; or the usual pokes."""
        if not self.deferrable:
            return super().execute(context)
        with self._failing_as_asked():
            terms = self._terms()
            ending = self._look(Wait(terms))
            if ending is not None:
                return _conclude(ending.to_json())
        self.defer(
            trigger=FinalizationTrigger(
                tables=list(terms.tables),
                until=format_instant(terms.until_ms),
                iceberg_conn_id=self.iceberg_conn_id,
                branch=terms.branch,
                max_late=terms.max_late,
                late_table=terms.late_table,
                poke_interval=self.poke_interval,
                patience=terms.patience_s,
                must_exist=terms.must_exist,
            ),
            method_name="execute_complete",
            timeout=timedelta(seconds=self.timeout),
        )

    def execute_complete(self, context: "Context", event: dict[str, Any]) -> dict[str, Any]:
        """Called with the trigger's event."""
        self.log.info("%s", event["message"])
        with self._failing_as_asked():
            return _conclude(event)

    def poke(self, context: "Context") -> PokeReturnValue:
        """Looks once at each table; an unreachable catalog is tried again for as long as `patience`."""
        wait = Wait(self._terms())
        while True:
            ending = self._look(wait)
            if ending is not None:
                return PokeReturnValue(True, _conclude(ending.to_json()))
            if not wait.failing or wait.terms.patience_s is None:
                return PokeReturnValue(False)
            time.sleep(min(_RETRY_S, wait.terms.patience_s))

    def _terms(self) -> Terms:
        tables = (self.table,) if isinstance(self.table, str) else tuple(self.table)
        patience = None if self.silent_fail else self.patience
        try:
            return Terms(
                tables,
                read_until(self.until),
                self.branch,
                self.max_late,
                self.late_table,
                patience,
                self.must_exist,
            )
        except ConfigurationError as e:
            raise AirflowFailException(str(e)) from e

    def _look(self, wait: Wait) -> Ending | None:
        for table in wait.terms.looked_at:
            outcome, now = self._outcome(table, wait.terms.branch), time.monotonic()
            failure = outcome if isinstance(outcome, Exception) else None
            line = wait.see(table, outcome, now)
            (self.log.warning if failure else self.log.info)(line)
            ending = wait.ending(failure, now)
            if ending is not None:
                return ending
        return None

    def _outcome(self, table: str, branch: str) -> TableLook | Exception:
        try:
            if self._reader is None:
                self._reader = TableReader(open_client(self.iceberg_conn_id))
            return self._reader.look(table, branch)
        except Exception as e:
            self._reader = None  # opened anew at the next look
            return e

    @contextmanager
    def _failing_as_asked(self) -> Iterator[None]:
        """What the base class does around a poke, for what runs outside of one."""
        try:
            yield
        except AirflowSkipException:
            raise
        except Exception as e:
            if self.never_fail or (self.soft_fail and isinstance(e, AirflowFailException)):
                raise AirflowSkipException(str(e)) from e
            raise


def _conclude(event: dict[str, Any]) -> dict[str, Any]:
    """The XCom value, or the error that fits the ending."""
    status = Status(event["status"])
    if status is Status.FINAL:
        return event
    if status is Status.UNREACHABLE:
        raise CatalogUnreachableError(event["message"])
    raise AirflowFailException(event["message"])
