import pytest

from demo import database
from demo.flights import Kind, changes_of, load_flights
from demo.player import BAD_MESSAGES, Player
from local_stack.waiting import wait_until

CHANGES = changes_of(load_flights(1))
FAST = 10_000_000.0


def play(changes, send_bad):
    player = Player(changes, FAST, None, send_bad)
    player.start()
    wait_until(lambda: player.finished, 10, "all changes are made")
    player.stop()
    return player


def test_all_changes_are_made_once_and_in_order(monkeypatch):
    made = []
    monkeypatch.setattr(database, "apply", lambda connection, changes: made.extend(changes))
    player = play(CHANGES, lambda value: None)
    assert made == CHANGES
    assert player.progress.changes == player.total == len(CHANGES)
    assert player.progress.clock == player.end_of_data


def test_every_bad_message_is_sent_once_between_the_changes(monkeypatch):
    log = []
    monkeypatch.setattr(database, "apply", lambda connection, changes: log.extend(changes))
    play(CHANGES, log.append)
    assert tuple(entry for entry in log if isinstance(entry, bytes)) == BAD_MESSAGES


def test_an_error_of_the_database_is_raised_to_whoever_looks(monkeypatch):
    def refuse(connection, changes):
        raise ConnectionError("the database is gone")

    monkeypatch.setattr(database, "apply", refuse)
    player = Player(CHANGES, FAST, None, lambda value: None)
    player.start()
    with pytest.raises(ConnectionError, match="gone"):
        wait_until(lambda: player.finished, 10, "the player fails")


def test_stopping_ends_the_player_before_its_changes(monkeypatch):
    monkeypatch.setattr(database, "apply", lambda connection, changes: None)
    player = Player(CHANGES, 1, None, lambda value: None)
    player.start()
    player.stop()
    assert not player.finished


def test_there_must_be_something_to_play():
    with pytest.raises(ValueError, match="no changes"):
        Player([], 1, None, lambda value: None)


@pytest.mark.integration
def test_changes_reach_postgresql(stack):
    flights = load_flights(1)[:50]
    with stack.postgres.connect() as connection:
        database.create_table(connection)
        try:
            database.apply(connection, changes_of(flights))
            rows = database.rows(connection)
        finally:
            connection.execute(f"DROP TABLE {database.SCHEMA}.{database.TABLE}")
    deleted = {change.flight.id for change in changes_of(flights) if change.kind is Kind.DELETE}
    assert rows.keys() == {flight.id for flight in flights} - deleted
    first = flights[0]
    assert rows[first.id]["actual_dep"] == first.departed
    assert rows[first.id]["sched_dep"] == first.scheduled.replace(tzinfo=None)
    assert (rows[first.id]["status"], rows[first.id]["arr_delay"]) == ("landed", first.arrival_delay)
