"""Every error this package raises on purpose. Configuration errors are `ValueError`s too."""

from typing import Self


class FinalizationError(Exception):
    """The root: catch this to catch everything this package raises on purpose."""


class ConfigurationError(FinalizationError, ValueError):
    """A setting is wrong. The text names the key, the value received, the form expected and the fix."""

    @classmethod
    def of(cls, key: str, value: object, expected: str, fix: str | None = None) -> Self:
        """The usual text."""
        received = "is not set" if value is None else f"is '{value}'"
        return cls(f"{key} {received}; expected {expected}" + (f". Fix: {fix}" if fix else ""))


class PipelineError(FinalizationError, ValueError):
    """A pipeline file is wrong; the text lists every problem by key."""


class MalformedFactsError(FinalizationError, ValueError):
    """The facts in a snapshot's summary cannot be read. To the algorithm, the commit is one without."""


class CatalogUnreachableError(FinalizationError):
    """The catalog did not answer, or refused who asked. Nothing is known about any table."""


class TableMissingError(FinalizationError, LookupError):
    """The catalog answered that it has no such table, or no such namespace."""

    def __init__(self, table: str, hint: str = "") -> None:
        super().__init__(table, hint)  # what it is made of, so that it survives the way between processes
        self.table = table
        self.hint = hint

    def __str__(self) -> str:
        return f"there is no table {self.table}" + (f"; {self.hint}" if self.hint else "")


class UnreadableTableError(FinalizationError):
    """The catalog has the table, but its metadata cannot be read."""
