"""Every option of the sink, declared once; makes the table in `docs/extending.md`."""

from __future__ import annotations

from finalization import options as finalization_options
from finalization.option_values import choice, text
from finalization.options import AT_RESTART, Option
from finalization.times import parse_duration

ACCUMULATORS = "sink.accumulators"
COMMIT_PROCESSORS = "sink.commit-processors"
FIELD_STATS_COLUMNS = "sink.field-stats.columns"
PYTHON_PREFIX = "python:"


def names(value: str) -> tuple[str, ...]:
    """The names in a list separated by commas."""
    found = tuple(name.strip() for name in value.split(","))
    if not all(found):
        raise ValueError(value)
    return found


OPTIONS: tuple[Option, ...] = (
    Option(
        ACCUMULATORS,
        "list",
        None,
        "",
        "Which accumulators see the records. Their facts are in the snapshot's summary, under "
        "`accumulator.<name>.`",
        "names of services (`event-time`, `field-stats`, your own) or class names, separated by commas",
        names,
        AT_RESTART,
    ),
    Option(
        COMMIT_PROCESSORS,
        "list",
        None,
        "",
        "What runs before and after each commit, in this order.",
        "names of services, class names or `python:package.module:Class`, separated by commas",
        names,
        AT_RESTART,
    ),
    Option(
        "sink.commit-processors.on-failure",
        "choice",
        "fail",
        "",
        "When a processor fails after the commit at the third attempt too: `fail` has the job fail over and "
        "try that step again, `log` goes on.",
        "fail or log",
        choice("fail", "log"),
        AT_RESTART,
    ),
    Option(
        "sink.python.executable",
        "text",
        "python3",
        "",
        "The Python interpreter of commit processors, where the job is submitted and on the workers.",
        "a path, or a command on the PATH",
        text,
        AT_RESTART,
    ),
    Option(
        "sink.python.timeout",
        "duration",
        "PT60S",
        "ISO-8601",
        "How long one call of a Python processor may take. Then the process is ended and the commit fails.",
        "an ISO-8601 duration such as PT60S",
        parse_duration,
        AT_RESTART,
    ),
    Option(
        FIELD_STATS_COLUMNS,
        "list",
        None,
        "columns",
        "Whose facts the accumulator `field-stats` gathers; it needs at least one.",
        "names of columns, with dots into nested fields, separated by commas",
        names,
        AT_RESTART,
    ),
)

BY_KEY = {option.key: option for option in OPTIONS} | finalization_options.BY_KEY
"""The options that the sink reads: its own, and those of finalization."""
