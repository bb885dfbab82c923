import signal
import sys

import pytest

from demo import __main__ as program
from local_stack.exceptions import LocalStackError


class FakeDemo:
    """Ends as it is told to; remembers whether it was cleaned up."""

    ends_with: object = True
    left = False

    def __init__(self, settings, console):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        FakeDemo.left = True

    def run(self):
        if isinstance(self.ends_with, BaseException):
            raise self.ends_with
        return self.ends_with


@pytest.fixture
def exit_code_of(tmp_path, monkeypatch):
    monkeypatch.setattr(signal, "signal", lambda number, handler: None)
    monkeypatch.setattr(sys, "argv", ["demo", "--directory", str(tmp_path / "demo")])
    monkeypatch.setattr(FakeDemo, "left", False)

    def exit_code(ending):
        monkeypatch.setattr(FakeDemo, "ends_with", ending)
        return program.main(FakeDemo)

    return exit_code


@pytest.mark.parametrize(
    ("ending", "code"),
    [(True, 0), (False, 1), (LocalStackError("Kafka [broker] ended"), 1), (KeyboardInterrupt(), 130)],
)
def test_the_exit_code_says_how_the_demo_ended(exit_code_of, ending, code):
    assert exit_code_of(ending) == code
    assert FakeDemo.left


def test_a_failed_part_is_named(exit_code_of, capsys):
    exit_code_of(LocalStackError("Kafka [broker] ended with code 1"))
    assert "Kafka [broker] ended with code 1" in capsys.readouterr().out


def test_the_folder_of_an_earlier_run_is_emptied(exit_code_of, tmp_path):
    exit_code_of(True)
    (tmp_path / "demo" / "old").touch()
    exit_code_of(True)
    assert not (tmp_path / "demo" / "old").exists()
