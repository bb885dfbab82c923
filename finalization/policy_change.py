"""Works out what a change of policy means for a table, and refuses what does not fit. Writes nothing."""

from collections.abc import Mapping
from dataclasses import dataclass

from finalization.exceptions import ConfigurationError
from finalization.options import AT_RESTART, BY_KEY, PREFIX
from finalization.policy import (
    LATENESS,
    MINIMUM,
    SOURCE_WATERMARK,
    Policy,
    refuse_unfit_column,
    refuse_unknown_keys,
)
from finalization.table_state import TableState

MIN_SNAPSHOTS = "history.expire.min-snapshots-to-keep"
_MIN_SNAPSHOTS_DEFAULT = 1
EMPTY_COMMITS = "flink.max-continuous-empty-commits"

_HISTORY_PER_COMMIT = 2
"""Snapshots to keep for each of the X commits: compactions and empty commits lie between them."""

_USELESS = {
    MINIMUM: ("lateness-quantile",),
    LATENESS: ("statistic", "idle"),
}


@dataclass(frozen=True)
class PolicyChange:
    """Properties to set and to remove, and what the user should know."""

    updates: Mapping[str, str]
    removals: tuple[str, ...]
    notes: tuple[str, ...]


def plan(state: TableState, wanted: Mapping[str, str], removals: tuple[str, ...] = ()) -> PolicyChange:
    """Takes full keys. Raises ConfigurationError, with the fix, for what does not fit the table."""
    refuse_unknown_keys(dict(wanted) | dict.fromkeys(removals, ""))
    for key in (*wanted, *removals):
        if key not in BY_KEY:
            raise ConfigurationError(f"{key} is kept by the job, it is no policy; it cannot be set")
    kept = {key: text for key, text in state.properties.items() if key not in removals}
    properties = {**kept, **wanted}
    refuse_unknown_keys(properties)
    policy = Policy.from_properties(properties)
    _refuse_unfit_columns(state, policy)
    updates = {key: text for key, text in wanted.items() if state.properties.get(key) != text}
    notes = _notes(policy, properties, state, updates, removals)
    return PolicyChange(
        {**updates, **_history(policy, properties)},
        tuple(key for key in removals if key in state.properties),
        notes,
    )


def _refuse_unfit_columns(state: TableState, policy: Policy) -> None:
    column = policy.event_time_column
    if column is None or not state.columns:
        return
    if column not in state.columns:
        raise ConfigurationError.of(
            PREFIX + "event-time-column", column, f"one of the table's columns: {', '.join(state.columns)}"
        )
    refuse_unfit_column(column, state.columns[column], policy.event_time_format)


def _history(policy: Policy, properties: Mapping[str, str]) -> dict[str, str]:
    """Expiry by age must leave the last X commits, or the watermark would hold for want of history."""
    if not policy.enabled:
        return {}
    needed = policy.lookback_commits * _HISTORY_PER_COMMIT + 1
    text = properties.get(MIN_SNAPSHOTS, "")
    kept = int(text) if text.isdecimal() else _MIN_SNAPSHOTS_DEFAULT
    return {MIN_SNAPSHOTS: str(needed)} if kept < needed else {}


def _notes(
    policy: Policy,
    properties: Mapping[str, str],
    state: TableState,
    updates: Mapping[str, str],
    removals: tuple[str, ...],
) -> tuple[str, ...]:
    notes = []
    for name in _USELESS[policy.rule]:
        if PREFIX + name in properties:
            notes.append(f"{PREFIX}{name} means nothing to rule {policy.rule}")
    if PREFIX + "time-zone" in properties and not policy.granularity.label.startswith("day@"):
        notes.append(
            f"{PREFIX}time-zone matters for granularity day only; partitions here are counted in UTC"
        )
    if policy.rule == MINIMUM and policy.idle == SOURCE_WATERMARK and EMPTY_COMMITS not in properties:
        notes.append(
            f"{PREFIX}idle counts empty commits, and the sink commits every tenth empty checkpoint only; "
            f"{EMPTY_COMMITS}=1 finalizes quiet hours sooner, at the price of more snapshots"
        )
    restart = [key for key in (*updates, *removals) if BY_KEY[key].takes_effect == AT_RESTART]
    if restart and state.snapshots:
        notes.append(f"{', '.join(restart)}: written into new facts after a restart of the job")
    return tuple(notes)
