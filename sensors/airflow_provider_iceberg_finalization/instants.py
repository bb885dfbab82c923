"""From what a DAG's author writes to an instant: ms since the epoch, UTC."""

from datetime import datetime
from typing import Any

from finalization.exceptions import ConfigurationError
from finalization.times import parse_instant, to_millis

_FIX = "name the zone, as {{ data_interval_end }} does, or write {{ ds }}T00:00Z for a day of UTC"


def read_until(value: Any) -> int:
    """Reads an aware datetime, or ISO-8601 text with a zone. Raises ConfigurationError.

    Text without a zone is refused: `{{ ds }}` is a day of UTC whatever the DAG's zone is, and most of its
    readers think otherwise.
    """
    expected = "an instant with a zone, such as {{ data_interval_end }} or 2013-01-01T10:00Z"
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            raise ConfigurationError.of("until", value, expected, _FIX)
        return to_millis(value)
    text = str(value).strip()
    if text in ("None", ""):
        raise ConfigurationError.of(
            "until",
            text,
            expected,
            "this run has no data interval; pass until from its conf or its asset event",
        )
    try:
        return parse_instant(text)
    except ValueError:
        raise ConfigurationError.of("until", text, expected, _FIX) from None
