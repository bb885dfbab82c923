"""The live display on a terminal, and plain progress lines elsewhere."""

from datetime import datetime, timedelta
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from demo.view import HOUR, HourState, TableView, View, amount, instant

_WIDTH = 100
_MOST_DAYS = 7
_NOTES = 6
_PLAIN_EVERY_S = 5.0

_CELLS = {
    HourState.AHEAD: ("· ", "bright_black"),
    HourState.OPEN: ("░░", "blue"),
    HourState.FINAL_IN_CDC: ("▒▒", "yellow"),
    HourState.FINAL: ("██", "green"),
}


class Display(Protocol):
    """Shows views while it is entered."""

    def show(self, view: View) -> None: ...

    def say(self, text: str) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def display_for(console: Console) -> Display:
    """The live display on a terminal, plain lines elsewhere (a file, a pipe, a build's log)."""
    return LiveDisplay(console) if console.is_terminal else PlainDisplay(console)


class LiveDisplay:
    """Redraws one panel in place."""

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, auto_refresh=False, transient=False)

    def show(self, view: View) -> None:
        self._live.update(render(view), refresh=True)

    def say(self, text: str) -> None:
        self._live.console.print(text, highlight=False, markup=False)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()


class PlainDisplay:
    """Prints a line every few seconds, and each note once."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._printed_at = -_PLAIN_EVERY_S
        self._notes = 0

    def show(self, view: View) -> None:
        for note in view.notes[self._notes :]:
            self.say(f"  {note}")
        self._notes = len(view.notes)
        if view.elapsed_s - self._printed_at >= _PLAIN_EVERY_S:
            self._printed_at = view.elapsed_s
            self.say(progress_line(view))

    def say(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


def progress_line(view: View) -> str:
    events, cdc, base = view.counts.changes, view.cdc, view.base
    return (
        f"{view.elapsed_s:4.0f} s  data {instant(view.clock)}  changes {view.changes}/{view.changes_total}"
        f"  events {events}  CDC {cdc.rows} rows, {cdc.commits} commits, W {instant(cdc.watermark)}"
        f"  base {base.rows} rows, {base.commits} commits, W {instant(base.watermark)}"
        f"  hours final {view.hours_final}  rows late {cdc.late}"
    )


def render(view: View) -> RenderableType:
    """Draws a view."""
    consumer = Text.assemble("consumer     ", (view.consumer, "magenta"))
    parts: list[RenderableType] = [_progress(view), "", _stages(view), consumer, ""]
    parts += [_hours(view), "", _legend()]
    if view.notes:
        parts += [
            "",
            *(Text(note, style="dim", no_wrap=True, overflow="ellipsis") for note in view.notes[-_NOTES:]),
        ]
    title = f"[bold]{instant(view.clock)} UTC[/bold], {view.speed:,.0f} times real time"
    return Panel(Padding(Group(*parts), (1, 2)), title=title, width=_WIDTH, border_style="cyan")


def _progress(view: View) -> RenderableType:
    bar = Table.grid(padding=(0, 2), expand=True)
    bar.add_column(ratio=1)
    bar.add_column(justify="right")
    share = Text(f"{view.changes:,} of {view.changes_total:,} changes")
    bar.add_row(ProgressBar(total=view.changes_total, completed=view.changes, complete_style="cyan"), share)
    return bar


def _stages(view: View) -> RenderableType:
    cdc, base = view.cdc, view.base
    stages = Table.grid(padding=(0, 3))
    stages.add_column(no_wrap=True)
    stages.add_column(no_wrap=True, justify="right")
    stages.add_row("PostgreSQL", f"{view.changes:,}", "changes")
    stages.add_row("Kafka", f"{view.counts.changes:,}", "change events")
    stages.add_row(
        "CDC table", f"{cdc.rows:,}", "rows", _watermark(cdc, "yellow"), amount(cdc.commits, "commit")
    )
    late = Text(f"{amount(cdc.late, 'row')} late", style="red" if cdc.late else "")
    stages.add_row("", "", "", late, amount(view.dead_letters, "dead letter"))
    stages.add_row(
        "base table", f"{base.rows:,}", "rows", _watermark(base, "green"), amount(base.commits, "commit")
    )
    stages.add_row("", "", "", Text(f"{amount(view.hours_final, 'hour')} final", style="green"))
    return stages


def _watermark(table: TableView, style: str) -> Text:
    return Text("W ") + Text(
        instant(table.watermark), style="dim" if table.watermark is None else f"bold {style}"
    )


def _hours(view: View) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_row(
        Text("departures", style="dim"), Text("".join(f"{hour:<6d}" for hour in range(0, 24, 3)), style="dim")
    )
    first = view.start.replace(hour=0)
    days = (view.end - first).days + 1
    shown = min(days, max(_MOST_DAYS, (view.clock - first).days + 2))
    for number in range(max(0, shown - _MOST_DAYS), shown):
        day = first + timedelta(days=number)
        grid.add_row(
            f"{day:%a %d %b}", Text.assemble(*(_cell(view, day + hour * HOUR) for hour in range(24)))
        )
    return grid


def _cell(view: View, hour: datetime) -> tuple[str, str]:
    text, style = _CELLS[view.state_of(hour)]
    if hour + HOUR <= view.start or hour > view.end:
        return "  ", style
    if hour in view.cdc.late_hours:
        return "▲ ", "bold red"
    if hour == view.consumer_hour:
        return ("◆ " if view.state_of(hour) is HourState.FINAL else "◇ "), "bold magenta"
    return text, style


def _legend() -> Text:
    entries = [(*_CELLS[state], state.value) for state in HourState]
    entries += [("▲", "bold red", "got late rows"), ("◇", "bold magenta", "the consumer's")]
    return Text("   ").join(
        Text.assemble((mark.strip()[:1], style), f" {meaning}") for mark, style, meaning in entries
    )
