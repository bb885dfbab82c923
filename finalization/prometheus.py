"""Statuses in Prometheus's text format."""

from collections.abc import Callable, Iterable

from finalization.status import TableStatus

_METRICS: tuple[tuple[str, str, str, Callable[[TableStatus], float | None]], ...] = (
    (
        "finalization_watermark_timestamp_seconds",
        "gauge",
        "Every event time before this is final.",
        lambda s: None if s.watermark_ms is None else s.watermark_ms / 1000,
    ),
    (
        "finalization_watermark_lag_seconds",
        "gauge",
        "Now minus the watermark.",
        lambda s: None if s.lag_ms is None else s.lag_ms / 1000,
    ),
    (
        "finalization_last_commit_timestamp_seconds",
        "gauge",
        "Time of the newest snapshot.",
        lambda s: None if s.last_commit_ms is None else s.last_commit_ms / 1000,
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
