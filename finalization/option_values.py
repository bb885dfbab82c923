"""Reads the values of options; each function raises ValueError for a text it does not take."""

import re
from collections.abc import Callable

from finalization.times import parse_instant

_REFERENCE = re.compile(r"\$\{(\w+)\}")


def choice(*names: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in names:
            raise ValueError(text)
        return text

    return parse


def integer(least: int, most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not least <= (number := int(text)) <= most:
            raise ValueError(text)
        return number

    return parse


def instant(text: str) -> int:
    """With seconds and zone, as Java's `Instant.parse` wants it too."""
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)", text):
        raise ValueError(text)
    return parse_instant(text)


def share(text: str) -> float:
    if not 0 < (share := float(text)) <= 1:
        raise ValueError(text)
    return share


def statistic(text: str) -> str:
    if text in ("min", "max"):
        return text
    match = re.fullmatch(r"p(\d{1,2}(?:\.\d+)?)", text)
    if not match or not 0.1 <= float(match[1]) <= 99.9:
        raise ValueError(text)
    return text


def text(text: str) -> str:
    if not text:
        raise ValueError("empty")
    return text


def sinks(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if names == ("none",):
        return ()
    if not names or set(names) - {"log", "webhook", "kafka"}:
        raise ValueError(text)
    return names


def by_reference(text: str) -> str:
    if not _REFERENCE.search(text):
        raise ValueError("a secret must not be in a table property")
    return text


def webhook_url(text: str) -> str:
    """User info and queries are where secrets hide: with them, the address must be a reference."""
    if _REFERENCE.search(text):
        return text
    if not re.fullmatch(r"https?://[^@?#\s]+", text):
        raise ValueError(text)
    return text


def kafka_properties(text: str) -> dict[str, str]:
    pairs = dict(pair.split("=", 1) for pair in text.split(",") if pair.strip())
    properties = {key.strip(): value.strip() for key, value in pairs.items()}
    for key, value in properties.items():
        if re.search("password|secret|jaas|oauth.*config", key):
            by_reference(value)
    return properties
