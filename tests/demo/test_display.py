import io
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from rich.console import Console

from demo.display import LiveDisplay, PlainDisplay, display_for, render
from demo.topic import Counts
from demo.view import HourState, TableView, View


def at(day: int, hour: int, minute: int = 0) -> datetime:
    return datetime(2013, 1, day, hour, minute, tzinfo=UTC)


@pytest.fixture
def view() -> View:
    return View(
        elapsed_s=61.2,
        speed=1800,
        clock=at(2, 16, 35),
        start=at(1, 10),
        end=at(3, 8, 51),
        changes=2345,
        changes_total=3556,
        counts=Counts(2340, 9, 2),
        cdc=TableView(2301, 33, at(2, 4), 3, frozenset([at(1, 22)])),
        dead_letters=2,
        base=TableView(1189, 8, at(2, 1)),
        consumer_hour=at(1, 13),
        consumer="waits for 2013-01-01 13:00–14:00",
        notes=("01 Jan 20:00  CDC table is final until 2013-01-01 10:00",),
    )


def text_of(view: View) -> str:
    console = Console(width=100, file=io.StringIO(), record=True)
    console.print(render(view))
    return console.export_text()


def test_the_panel_shows_every_part_with_its_figures(view):
    text = text_of(view)
    figures = (
        "2,345 of 3,556",
        "2,340",
        "2,301",
        "33 commits",
        "3 rows late",
        "2 dead letters",
        "15 hours final",
    )
    for figure in figures:
        assert figure in text
    assert "W 2013-01-02 04:00" in text
    assert "W 2013-01-02 01:00" in text
    assert view.notes[0] in text


def test_the_panel_shows_every_hour_of_every_day(view):
    lines = text_of(view).splitlines()
    first, second, third = (
        next(line for line in lines if day in line) for day in ("Tue 01", "Wed 02", "Thu 03")
    )
    assert first.count("██") == 12
    assert "▲" in first
    assert "◆" in first
    assert (second.count("██"), second.count("▒▒"), second.count("░░")) == (1, 3, 13)
    assert third.count("·") == 9


@pytest.mark.parametrize(
    ("clock", "days"),
    [
        (at(1, 11), range(1, 8)),
        (at(7, 1), range(2, 9)),
        (at(20, 1), range(15, 22)),
        (at(31, 1), range(25, 32)),
    ],
)
def test_a_long_run_shows_the_week_around_the_clock(view, clock, days):
    text = text_of(replace(view, clock=clock, end=at(31, 12), notes=()))
    assert [day for day in range(1, 32) if f"{day:02d} Jan" in text] == list(days)


def test_the_panel_fits_before_anything_has_come(view):
    nothing = TableView()
    empty = replace(view, cdc=nothing, base=nothing, counts=Counts(), changes=0, clock=view.start, notes=())
    assert "none yet" in text_of(empty)
    assert empty.hours_final == 0


def test_an_hour_is_final_only_once_all_of_it_is_behind_the_watermark(view):
    assert view.state_of(at(2, 0)) is HourState.FINAL
    assert view.state_of(at(2, 1)) is HourState.FINAL_IN_CDC
    assert view.state_of(at(2, 4)) is HourState.OPEN
    assert view.state_of(at(2, 17)) is HourState.AHEAD


def test_a_terminal_gets_the_live_display_and_a_file_plain_lines():
    assert isinstance(display_for(Console(force_terminal=True)), LiveDisplay)
    assert isinstance(display_for(Console(file=io.StringIO())), PlainDisplay)


def test_plain_lines_are_sparse_and_notes_are_printed_once(view):
    file = io.StringIO()
    with PlainDisplay(Console(file=file)) as display:
        for second in range(11):
            display.show(replace(view, elapsed_s=float(second)))
    lines = file.getvalue().splitlines()
    assert lines.count(f"  {view.notes[0]}") == 1
    assert len(lines) == 1 + 3
    assert "rows late 3" in lines[-1]
