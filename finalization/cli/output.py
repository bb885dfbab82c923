"""Exit codes, and how errors and times look."""

import sys
from typing import Any, NoReturn

from finalization.exceptions import CatalogUnreachableError, FinalizationError, TableMissingError
from finalization.times import format_instant

FINAL = 0
ERROR = 1
USAGE = 2
TIMED_OUT = 3
NO_SUCH_TABLE = 4
UNREACHABLE = 5
STALLED = 6


def exit_code(error: FinalizationError) -> int:
    if isinstance(error, TableMissingError):
        return NO_SUCH_TABLE
    if isinstance(error, CatalogUnreachableError):
        return UNREACHABLE
    return USAGE if isinstance(error, ValueError) else ERROR


def fail(error: FinalizationError) -> NoReturn:
    """Ends the process with the error's line and code."""
    print(f"error: {error}", file=sys.stderr)
    sys.exit(exit_code(error))


def instant(epoch_ms: int | None) -> str:
    return "–" if epoch_ms is None else format_instant(epoch_ms)


def print_json(value: Any) -> None:
    import json

    print(json.dumps(value, indent=2))
