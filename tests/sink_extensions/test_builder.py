"""What the builder makes of names and values, before any Flink is there."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from examples.extending.audit import Audit
from finalization.exceptions import ConfigurationError
from sink_extensions import ExtensibleSink

SINK = ExtensibleSink("ice.shop.orders")


class Outer:
    class Nested:
        """A class that cannot be imported by its own name."""


class Hidden:
    """Replaced in its module below."""


_Replaced, Hidden = Hidden, None  # type: ignore[misc,assignment]


class OnlyBefore:
    def pre_commit(self, ctx: object) -> None: ...


def test_what_is_set_becomes_hints() -> None:
    sink = SINK.field_stats("amount").commit_processors("gate", Audit).option("sink.x", "it's")
    assert sink.hints() == (
        "/*+ OPTIONS('sink.accumulators' = 'field-stats', 'sink.field-stats.columns' = 'amount', "
        "'sink.commit-processors' = 'gate,python:examples.extending.audit:Audit', 'sink.x' = 'it''s') */"
    )


def test_nothing_set_is_no_hint() -> None:
    assert SINK.hints() == ""


def test_names_add_up_in_their_order_and_once() -> None:
    sink = SINK.accumulators("a", "b").accumulators("com.example.C", "a")
    assert sink.properties == {"sink.accumulators": "a,b,com.example.C"}


def test_a_sink_is_not_changed_by_what_is_made_of_it() -> None:
    base = SINK.accumulators("a")
    base.accumulators("b").option("sink.x", "1")
    assert base.properties == {"sink.accumulators": "a"}


@pytest.mark.parametrize("name", ["examples.extending.audit:Audit", "python:examples.extending.audit:Audit"])
def test_a_python_class_by_name(name: str) -> None:
    assert SINK.commit_processors(name) == SINK.commit_processors(Audit)


@pytest.mark.parametrize(("value", "text"), [(True, "true"), (7, "7"), (0.5, "0.5"), ("x", "x")])
def test_values_become_text(value: str | bool | int | float, text: str) -> None:
    assert SINK.option("sink.x", value).properties["sink.x"] == text


@pytest.mark.parametrize("path", ["orders", "shop.orders", "`a b`.`c.d`.orders"])
def test_a_path_is_one_of_flinks(path: str) -> None:
    assert ExtensibleSink(path).table == path


@pytest.mark.parametrize(
    "path", ["", "a.b.c.d", "a b", "a..b", "`a", "a.b;DROP TABLE c", "ice.my-shop.orders", None]
)
def test_another_path_is_refused(path: Any) -> None:
    with pytest.raises(
        ConfigurationError, match=r"table is .*; expected catalog\.database\.table.*backticks"
    ):
        ExtensibleSink(path)


WRONG: list[tuple[Callable[[], ExtensibleSink], str]] = [
    (
        lambda: SINK.accumulators("a,b"),
        r"sink\.accumulators is 'a,b'; expected a service.*argument of its own",
    ),
    (lambda: SINK.accumulators(), r"sink\.accumulators is not set; expected at least one name"),
    (lambda: SINK.accumulators(""), r"sink\.accumulators is ''; expected a service's name"),
    (lambda: SINK.accumulators("x:Y"), r"sink\.accumulators is 'x:Y'; expected a service's name"),
    (lambda: SINK.field_stats("a,b"), r"sink\.field-stats\.columns is 'a,b'; expected a column's name"),
    (lambda: SINK.commit_processors("a:b:c"), r"is 'a:b:c'; expected python:package\.module:Class"),
    (
        lambda: SINK.commit_processors("two words"),
        r"sink\.commit-processors is 'two words'; expected a service",
    ),
    (lambda: SINK.commit_processors(Audit()), r"give the class Audit, not an instance"),  # type: ignore[arg-type]
    (
        lambda: SINK.commit_processors(Outer.Nested),
        r"Outer\.Nested'; expected a class at the top level of its",
    ),
    (
        lambda: SINK.commit_processors(_Replaced),
        r"Hidden'; expected a class that its module has under that name",
    ),
    (lambda: SINK.commit_processors(OnlyBefore), r"OnlyBefore.* has no method post_commit\(context\)"),
    (
        lambda: SINK.option("sink.accumulators", "a"),
        r"sink\.accumulators is 'a'; expected a call of accumulators",
    ),
    (lambda: SINK.option("sink x", "a"), r"an option's key is 'sink x'; expected a text without blanks"),
    (lambda: SINK.option("sink.x", None), r"sink\.x is not set; expected a text, a number"),  # type: ignore[arg-type]
    (
        lambda: SINK.option("sink.python.timeout", "1 min"),
        r"sink\.python\.timeout is '1 min'; expected an ISO-8601",
    ),
    (
        lambda: SINK.option("sink.commit-processors.on-failure", "x"),
        r"on-failure is 'x'; expected fail or log",
    ),
    (
        lambda: SINK.option("finalization.granularity", "week"),
        r"granularity is 'week'; expected hour, day, or",
    ),
]


@pytest.mark.parametrize(("make", "message"), WRONG, ids=[message for _, message in WRONG])
def test_what_is_wrong_says_which_key_which_value_and_what_would_be_right(
    make: Callable[[], ExtensibleSink], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        make()


def test_a_class_within_a_function_is_refused() -> None:
    class Local(Audit):
        pass

    with pytest.raises(
        ConfigurationError, match="move Local out of the class or function that it is defined in"
    ):
        SINK.commit_processors(Local)


def test_a_class_of_the_script_itself_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted = type("Scripted", (Audit,), {"__module__": "__main__", "__qualname__": "Scripted"})
    monkeypatch.setattr(sys.modules["__main__"], "Scripted", scripted, raising=False)
    with pytest.raises(
        ConfigurationError, match=r"__main__:Scripted.*move Scripted into a module of its own"
    ):
        SINK.commit_processors(scripted)


def test_the_builder_needs_no_flink_until_it_writes() -> None:
    code = (
        "import sys; from sink_extensions import ExtensibleSink; ExtensibleSink('t').field_stats('a'); "
        "sys.exit(any(name.startswith(('pyflink', 'py4j')) for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
