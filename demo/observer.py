"""Looks at all parts of a running demo and says what is new."""

import time

from demo.consumer import Report
from demo.lake import Lake
from demo.player import Player
from demo.settings import Settings
from demo.topic import TopicReader
from demo.view import TableView, View, amount, hour_range, instant


class Observer:
    """Makes views of a run. Notes are kept from the first view to the last."""

    def __init__(self, settings: Settings, player: Player, topic: TopicReader, lake: Lake) -> None:
        self._settings = settings
        self._player = player
        self._topic = topic
        self._lake = lake
        self._started = time.monotonic()
        self._previous: View | None = None
        self._notes: list[str] = []

    def look(self) -> View:
        """Returns how things stand. Raises what ended the player, if something did."""
        progress = self._player.progress
        tables = self._lake.tables
        # The base table first: it must never be seen ahead of the table it is made from.
        base = self._lake.view(tables.base)
        report = Report.load(self._settings.consumer_report)
        view = View(
            elapsed_s=time.monotonic() - self._started,
            speed=self._settings.speed,
            clock=progress.clock,
            start=self._player.start_of_data,
            end=self._player.end_of_data,
            changes=progress.changes,
            changes_total=self._player.total,
            counts=self._topic.read(),
            cdc=self._lake.view(tables.cdc),
            dead_letters=self._lake.view(tables.dead_letters).rows,
            base=base,
            consumer_hour=self._settings.consumer_hour,
            consumer=self._consumer(report),
        )
        self._note(view)
        view = view.with_notes(self._notes)
        self._previous = view
        return view

    def _consumer(self, report: Report | None) -> str:
        hour = hour_range(self._settings.consumer_hour)
        if report is None:
            return f"waits for {hour}"
        late = f"{report.late_flights} left over 15 minutes late"
        return f"read {hour}: {amount(len(report.rows), 'flight')}, {late}"

    def _note(self, view: View) -> None:
        previous = self._previous
        before = (previous.cdc, previous.base) if previous else (TableView(), TableView())
        clock = f"{view.clock:%d %b %H:%M}"
        for name, old, new in zip(("CDC", "base"), before, (view.cdc, view.base), strict=True):
            if new.watermark != old.watermark:
                self._notes.append(f"{clock}  {name} table is final until {instant(new.watermark)}")
        if view.cdc.late > before[0].late:
            new_hours = sorted(view.cdc.late_hours - before[0].late_hours)
            hours = ", ".join(f"{hour:%d %b %H}h" for hour in new_hours)
            late = f"{clock}  {amount(view.cdc.late - before[0].late, 'row')} came late"
            self._notes.append(f"{late}, for {hours}" if hours else late)
        if view.dead_letters > (previous.dead_letters if previous else 0):
            self._notes.append(f"{clock}  a message that is no change event went to the dead letters")
        if previous is not None and view.consumer != previous.consumer:
            self._notes.append(f"{clock}  the consumer {view.consumer}")
