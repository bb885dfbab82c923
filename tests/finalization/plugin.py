"""A package's own command, as it would come by an entry point."""

import typer


def register(app: typer.Typer) -> None:
    @app.command("hello")
    def hello() -> None:
        typer.echo("hello")
