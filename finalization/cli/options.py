"""Options that several commands share, and the catalog they name. The catalog's library loads late."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from finalization.exceptions import ConfigurationError
from finalization.times import parse_instant, parse_interval, to_millis

if TYPE_CHECKING:
    from finalization.catalog import FinalizationClient
    from finalization.pipeline import Pipeline

PipelineOption = Annotated[
    Path | None,
    typer.Option("--pipeline", "-p", help="Pipeline file that names the catalog.", show_default=False),
]
CatalogOption = Annotated[
    str | None,
    typer.Option(
        "--catalog", help="Catalog by its name in pyiceberg's configuration (default: its default catalog)."
    ),
]
PropertyOption = Annotated[
    list[str] | None, typer.Option("--property", help="A catalog property, KEY=VALUE; may be repeated.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]
TableArgument = Annotated[str, typer.Argument(help="The table's full name, namespace.table.")]
BranchOption = Annotated[str, typer.Option("--branch", help="The branch whose watermark is meant.")]


def pairs(texts: list[str] | None, option: str) -> dict[str, str]:
    """`KEY=VALUE` texts as a dictionary. Raises ConfigurationError."""
    result = {}
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise ConfigurationError(f"{option} is '{text}'; expected KEY=VALUE")
        result[key] = value
    return result


def opener(
    pipeline: Path | None, catalog: str | None, properties: list[str] | None
) -> "Callable[[], FinalizationClient]":
    """How to open the catalog that the options name, here or in another process; nothing is opened yet.

    Raises ConfigurationError.
    """
    from finalization.catalog import FinalizationClient

    extra = pairs(properties, "--property")
    if pipeline is not None and catalog is not None:
        raise ConfigurationError("--pipeline and --catalog each name a catalog; give one of them")
    if pipeline is not None:
        return partial(FinalizationClient.open, load_pipeline(pipeline).catalog, extra)
    name = catalog or os.environ.get("PYICEBERG_CATALOG") or "default"
    return partial(FinalizationClient.open, name, extra)


def open_client(
    pipeline: Path | None, catalog: str | None, properties: list[str] | None
) -> "FinalizationClient":
    """Opens the catalog that the options name."""
    return opener(pipeline, catalog, properties)()


def load_pipeline(path: Path) -> "Pipeline":
    from finalization.pipeline import load

    return load(path)


def read_instant(text: str | None, option: str) -> int | None:
    """ISO-8601 with a zone, in ms. Raises ConfigurationError."""
    if text is None:
        return None
    try:
        return parse_instant(text)
    except ValueError as e:
        detail = str(e) if "time zone" in str(e) else f"'{text}' is no ISO-8601 instant"
        raise ConfigurationError(f"{option}: {detail}; expected for instance 2013-01-01T10:00Z") from None


def read_interval(text: str | None, option: str) -> int | None:
    """A duration in ms. Raises ConfigurationError."""
    if text is None:
        return None
    try:
        return parse_interval(text)
    except ValueError as e:
        raise ConfigurationError(f"{option}: {e}") from None


def now_ms() -> int:
    return to_millis(datetime.now(UTC))
