"""W as a table property."""

from collections.abc import Mapping

from finalization.exceptions import ConfigurationError
from finalization.options import WATERMARK
from finalization.times import parse_instant


def watermark_key(branch: str) -> str:
    """The table property that holds W of a branch: what is final on one is not on another."""
    return WATERMARK if branch == "main" else f"{WATERMARK}@{branch}"


def read_watermark(properties: Mapping[str, str], branch: str = "main") -> int | None:
    """W in ms, None if there is none yet. Raises ConfigurationError for one that cannot be read."""
    key = watermark_key(branch)
    text = properties.get(key)
    if text is None:
        return None
    try:
        return parse_instant(text)
    except (ValueError, OverflowError):
        raise ConfigurationError.of(
            key, text, "an instant such as 2013-01-01T10:00:00Z", "set it to the instant known to be final"
        ) from None
