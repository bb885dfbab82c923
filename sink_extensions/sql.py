"""Names and values as Flink SQL writes them."""

from collections.abc import Iterable, Mapping


def identifier(name: str) -> str:
    """Quote a name."""
    return "`" + name.replace("`", "``") + "`"


def path(names: Iterable[str]) -> str:
    """Quote a table's full name, given in parts."""
    return ".".join(identifier(name) for name in names)


def literal(text: str) -> str:
    """Quote a text."""
    return "'" + text.replace("'", "''") + "'"


def options(values: Mapping[str, str]) -> str:
    """What stands between the parentheses of `WITH (…)` and `OPTIONS(…)`."""
    return ", ".join(f"{literal(key)} = {literal(value)}" for key, value in values.items())
