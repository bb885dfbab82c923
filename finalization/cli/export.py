"""`finalization export`: all tables in Prometheus's text format."""

import os
from pathlib import Path
from typing import Annotated

import typer

from finalization.cli.options import CatalogOption, PipelineOption, PropertyOption, now_ms, opener


def register(app: typer.Typer) -> None:
    app.command("export")(export)


def export(
    tables: Annotated[
        list[str] | None,
        typer.Argument(
            help="Full names; default: all tables with a watermark or a policy.", metavar="[TABLE…]"
        ),
    ] = None,
    match: Annotated[str | None, typer.Option("--filter", help="Only tables whose name matches.")] = None,
    file: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Replace this file at once, for the textfile collector."),
    ] = None,
    pipeline: PipelineOption = None,
    catalog: CatalogOption = None,
    properties: PropertyOption = None,
) -> None:
    """Write watermarks, lags and counts as Prometheus metrics, to standard output or to a file."""
    from finalization.prometheus import to_prometheus
    from finalization.survey import survey

    text = to_prometheus(survey(opener(pipeline, catalog, properties), tables or None, match, now_ms()))
    if file is None:
        typer.echo(text, nl=False)
        return
    # A collector that reads meanwhile must see the old file or the new one, whole.
    partial = file.with_name(f".{file.name}.{os.getpid()}")
    partial.write_text(text)
    partial.replace(file)
