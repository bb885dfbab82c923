"""What a table's state says to people and monitors: watermark, lag, lateness, and the reason."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from finalization.behind import CDC_TABLE, Behind, behind
from finalization.exceptions import FinalizationError, MalformedFactsError
from finalization.facts import Facts
from finalization.facts import from_summary as facts_of
from finalization.lateness import from_summary as late_of
from finalization.lineage import Snapshot
from finalization.policy import LATENESS, Policy
from finalization.table_state import MAIN, TableState
from finalization.times import format_instant
from finalization.watermark import decide

ERROR = "error"
PENDING = "pending"


@dataclass(frozen=True)
class TableStatus:
    """Times in ms since the epoch, UTC; `lag_ms` is now − W; `code` and `reason` say why W stands.

    Counts run over the snapshots that are still kept. `behind` is there for a base table.
    """

    table: str
    code: str
    reason: str
    watermark_ms: int | None = None
    lag_ms: int | None = None
    last_commit_ms: int | None = None
    policy: str = ""
    commits: int = 0
    records: int = 0
    late_records: int = 0
    nulls: int = 0
    rejected: int = 0
    behind: Behind | None = None

    def stalled(self, max_lag_ms: int) -> bool:
        """Whether W lags more than allowed; also when there is no W at all, or the table cannot be read."""
        return self.code != "off" and (self.lag_ms is None or self.lag_ms > max_lag_ms)

    def to_json(self) -> dict[str, Any]:
        """As a dictionary with ISO-8601 instants beside durations in ms."""
        values = asdict(self)
        for key in ("watermark", "last_commit"):
            instant = values.pop(f"{key}_ms")
            values[key] = None if instant is None else format_instant(instant)
        return values


def table_status(
    state: TableState, now_ms: int, branch: str = MAIN, cdc: TableState | None = None
) -> TableStatus:
    """Never raises for what is wrong with the table: that becomes the reason.

    `cdc` is the table that a base table follows (see `followed`); None if it could not be read.
    """
    lineage = list(state.lineage(branch))
    try:
        watermark = state.watermark_ms(branch)
        policy = state.policy()
        distance = _behind(state, cdc, now_ms)
    except FinalizationError as e:
        return _with_totals(TableStatus(state.table, ERROR, f"{ERROR}: {e}"), lineage)
    decision = decide(lineage, policy, watermark)
    code, reason = decision.code, decision.reason
    if decision.advances and decision.candidate is not None:
        target = format_instant(decision.candidate)
        code, reason = PENDING, f"{PENDING}: the next commit of the job moves it to {target}"
    if code == "off" and (watermark is not None or distance is not None):
        # A base table has no policy of its own: the upsert carries the watermark over.
        code, reason = "carried", f"carried: {distance or 'by who writes the table'}"
    status = TableStatus(
        state.table,
        code,
        reason,
        watermark_ms=watermark,
        lag_ms=None if watermark is None else now_ms - watermark,
        last_commit_ms=lineage[0].timestamp_ms if lineage else None,
        policy=describe_policy(policy) if policy.enabled else "",
        behind=distance,
    )
    return _with_totals(status, lineage)


def followed(state: TableState) -> str | None:
    """The full name of the CDC table that a base table follows; None for any other table."""
    return state.properties.get(CDC_TABLE)


def failed(table: str, error: Exception) -> TableStatus:
    """For a table that could not be read."""
    return TableStatus(table, ERROR, f"{ERROR}: {error}")


def describe_policy(policy: Policy) -> str:
    """The policy in a few words, such as `minimum min X=12 hour`."""
    what = f"q={policy.lateness_quantile:g}" if policy.rule == LATENESS else policy.statistic
    words = [policy.rule, what, f"X={policy.lookback_commits}", policy.granularity.label]
    if policy.allowed_lateness:
        words.append(f"lateness={policy.allowed_lateness // 1000}s")
    return " ".join(words)


def _behind(state: TableState, cdc: TableState | None, now_ms: int) -> Behind | None:
    name = followed(state)
    if name is None:
        return None
    return Behind(name) if cdc is None else behind(state, cdc, now_ms)


def _with_totals(status: TableStatus, lineage: list[Snapshot]) -> TableStatus:
    found: list[tuple[Facts, int]] = []
    for snapshot in lineage:
        try:
            facts, late = facts_of(snapshot.summary), late_of(snapshot.summary)
        except MalformedFactsError:
            continue
        if facts is not None:
            found.append((facts, late.records if late else 0))
    return replace(
        status,
        commits=len(found),
        records=sum(facts.count for facts, _ in found),
        nulls=sum(facts.nulls for facts, _ in found),
        rejected=sum(facts.rejected for facts, _ in found),
        late_records=sum(late for _, late in found),
    )
