"""Statuses in Prometheus's text format."""

from collections.abc import Callable, Iterable

from finalization.status import TableStatus


def _seconds(ms: int | None) -> float | None:
    return None if ms is None else ms / 1000


_METRICS: tuple[tuple[str, str, str, Callable[[TableStatus], float | None]], ...] = (
    (
        "finalization_watermark_timestamp_seconds",
        "gauge",
        "Every event time before this is final.",
        lambda s: _seconds(s.watermark_ms),
    ),
    (
        "finalization_watermark_lag_seconds",
        "gauge",
        "Now minus the watermark.",
        lambda s: _seconds(s.lag_ms),
    ),
    (
        "finalization_last_commit_timestamp_seconds",
        "gauge",
        "Time of the newest snapshot.",
        lambda s: _seconds(s.last_commit_ms),
    ),
    ("finalization_commits", "gauge", "Commits with facts among the snapshots kept.", lambda s: s.commits),
    (
        "finalization_records",
        "gauge",
        "Records with an event time in the snapshots kept.",
        lambda s: s.records,
    ),
    ("finalization_late_records", "gauge", "Late records in the snapshots kept.", lambda s: s.late_records),
    ("finalization_null_records", "gauge", "Records without an event time, likewise.", lambda s: s.nulls),
    ("finalization_rejected_records", "gauge", "Records out of bounds, likewise.", lambda s: s.rejected),
    (
        "finalization_base_behind_snapshots",
        "gauge",
        "Snapshots of the CDC table whose rows a base table does not have yet.",
        lambda s: s.behind.snapshots if s.behind else None,
    ),
    (
        "finalization_base_behind_seconds",
        "gauge",
        "How long the oldest of them waits for an upsert.",
        lambda s: _seconds(s.behind.waiting_ms) if s.behind else None,
    ),
    (
        "finalization_base_behind_watermark_seconds",
        "gauge",
        "Watermark of the CDC table minus that of the base table.",
        lambda s: _seconds(s.behind.watermark_ms) if s.behind else None,
    ),
    (
        "finalization_table_readable",
        "gauge",
        "0 where the table or its policy cannot be read.",
        lambda s: 0 if s.code == "error" else 1,
    ),
)


def to_prometheus(statuses: Iterable[TableStatus]) -> str:
    """One block for each metric; a metric that a table does not have is left out.

    `finalization_state` is 1 with the code of the decision as a label, so that alerts can tell `idle` from
    `warming-up`.
    """
    rows = list(statuses)
    lines = []
    for name, kind, text, value_of in _METRICS:
        lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
        for row in rows:
            value = value_of(row)
            if value is not None:
                lines.append(f'{name}{{table="{_escape(row.table)}"}} {value:.15g}')
    lines += ["# HELP finalization_state Why the watermark stands.", "# TYPE finalization_state gauge"]
    lines += [
        f'finalization_state{{table="{_escape(row.table)}",code="{_escape(row.code)}"}} 1' for row in rows
    ]
    return "\n".join(lines) + "\n"


def _escape(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
