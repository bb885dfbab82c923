"""Turns pydantic's findings into lines that name key, value received, form expected and fix."""

from collections.abc import Iterator
from dataclasses import fields
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError

from finalization.catalog_config import CatalogConfig

_UNKNOWN = {"extra_forbidden", "unexpected_keyword_argument"}
_MISSING = {"missing", "missing_argument"}

_FORMS = {
    "name": "letters, digits, dashes, dots and underscores",
    "kafka": "keys: brokers, topics (or topic-pattern), properties",
    "kafka.brokers": "host:port, separated by commas",
    "kafka.topics": "a list of topic names",
    "columns": "a mapping of column name to Flink SQL type, such as id: BIGINT",
    "primary-key": "a list of column names",
    "event-time": "keys: column and format, or expression",
    "tables": "keys: cdc, base and, optionally, dead-letters",
    "catalog": "keys: name, type, uri, warehouse, properties",
    "catalog.type": "sql or rest",
    "finalization": "a mapping of policy keys without the prefix finalization., such as lookback-commits: 12",
    "checkpoint.interval": "a duration such as 10s, 5m or PT10S",
    "checkpoint.directory": "a URI such as file:///data/checkpoints",
    "parallelism": "a whole number from 1",
    "upsert.deletes": "hard or soft",
    "upsert.truncate": "refuse or apply",
    "upsert.table-properties": "a mapping of Iceberg's table properties, such as format-version: 3",
    "format": "debezium-json",
}


def describe(error: ValidationError, model: type[BaseModel]) -> Iterator[str]:
    """One line for each problem."""
    for item in error.errors(include_url=False):
        path = [str(part) for part in item["loc"]]
        yield _line(path, item["type"], item["msg"], item["input"], model)


def _line(path: list[str], kind: str, message: str, value: Any, model: type[BaseModel]) -> str:
    key = ".".join(path)
    if kind in _UNKNOWN:
        known = _keys(model, path[:-1])
        near = get_close_matches(path[-1], known, n=1)
        fix = f"did you mean {near[0]}?" if near else f"known keys here: {', '.join(known)}"
        return f"{key}: no such key; {fix}"
    form = _FORMS.get(key) or _FORMS.get(".".join(path[:-1]), "")
    if kind in _MISSING:
        return f"{key}: is missing; " + (f"expected {form}" if form else "add it")
    if kind == "value_error":
        text = message.removeprefix("Value error, ")
        shown = f"is '{value}'; " if isinstance(value, str) else ""
        return f"{key}: {shown}{text}" if key else text
    # A property's value may be a secret, and a container says nothing in one line.
    hidden = "properties" in path or isinstance(value, dict | list) or value is None
    received = f"is {_kind_of(value)}" if hidden else f"is '{value}'"
    return f"{key}: {received}; expected {form or message}"


def _kind_of(value: Any) -> str:
    if value is None:
        return "empty"
    if value in ([], {}):
        return "empty"
    return "a mapping" if isinstance(value, dict) else "a list" if isinstance(value, list) else "not a text"


def _keys(model: type[BaseModel], path: list[str]) -> list[str]:
    """The keys known at a path, as they are written in the file."""
    current: Any = model
    for part in path:
        found = next(
            (f for name, f in current.model_fields.items() if (f.alias or name) == part),
            None,
        )
        current = found.annotation if found else None
        if current is CatalogConfig:
            return [field.name for field in fields(CatalogConfig)]
        if not (isinstance(current, type) and issubclass(current, BaseModel)):
            return []
    return [field.alias or name for name, field in current.model_fields.items()]
