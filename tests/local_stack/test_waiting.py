import pytest

from local_stack.exceptions import LocalStackError
from local_stack.waiting import wait_until


def test_the_first_truthy_value_is_returned():
    answers = iter([None, 0, "", "here", "never asked for"])
    assert wait_until(lambda: next(answers), 5, "a value is there", interval_s=0) == "here"


def test_the_condition_is_asked_once_even_without_time():
    assert wait_until(lambda: "here", 0, "a value is there") == "here"


def test_a_missed_deadline_names_what_was_waited_for_and_the_last_value():
    with pytest.raises(TimeoutError, match=r"until the moon is blue \(last value: 0\)") as raised:
        wait_until(lambda: 0, 0.01, "the moon is blue", interval_s=0.001)
    assert isinstance(raised.value, LocalStackError)


def test_an_error_of_the_condition_is_not_hidden():
    def broken() -> None:
        raise KeyError("broken")

    with pytest.raises(KeyError):
        wait_until(broken, 5, "a value is there")
