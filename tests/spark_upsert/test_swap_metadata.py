"""The one way this package commits metadata, against an Iceberg that answers as told to."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from spark_upsert.iceberg import swap_metadata


class FakeClass:
    def __init__(self, name: str) -> None:
        self._name = name

    def getSimpleName(self) -> str:  # noqa: N802
        return self._name


class JavaError(Exception):
    """As py4j raises it: with the Java exception inside."""

    def __init__(self, *names: str) -> None:
        super().__init__(names[0])
        self.java_exception = None
        for name in reversed(names):
            self.java_exception = _java(name, self.java_exception)


def _java(name: str, cause: Any) -> Any:
    return SimpleNamespace(getClass=lambda: FakeClass(name), getCause=lambda: cause)


@dataclass
class FakeOperations:
    """`answers` are what the commits do: None succeeds, an error fails; `lost` errors follow a success."""

    answers: list[Exception | None]
    lost: bool = False
    number: int = 0
    committed: list[str] = field(default_factory=list)

    def refresh(self) -> int:
        self.number += 1
        return self.number

    def commit(self, base: int, new: str) -> None:
        answer = self.answers.pop(0)
        if answer is None or self.lost:
            self.committed.append(new)
        if answer is not None:
            raise answer


@dataclass
class FakeBuilder:
    base: int
    change: str = ""

    def build(self) -> str:
        return f"{self.change} on {self.base}"


SPARK = SimpleNamespace(
    _jvm=SimpleNamespace(
        org=SimpleNamespace(
            apache=SimpleNamespace(
                iceberg=SimpleNamespace(TableMetadata=SimpleNamespace(buildFrom=FakeBuilder))
            )
        )
    )
)


def swap(operations: FakeOperations, attempts: int = 3) -> bool:
    def change(metadata: int, builder: FakeBuilder) -> bool:
        builder.change = "change"
        return not operations.committed

    return swap_metadata(SPARK, SimpleNamespace(operations=lambda: operations), change, attempts)


def test_a_refused_commit_is_computed_anew_from_newer_metadata() -> None:
    operations = FakeOperations([JavaError("CommitFailedException"), None])

    assert swap(operations)
    assert operations.committed == ["change on 2"]


def test_a_commit_whose_answer_was_lost_is_not_made_twice() -> None:
    operations = FakeOperations([JavaError("Wrapping", "CommitStateUnknownException"), None], lost=True)

    assert not swap(operations)
    assert operations.committed == ["change on 1"]


def test_another_error_is_not_tried_again() -> None:
    operations = FakeOperations([JavaError("ForbiddenException"), None])

    with pytest.raises(JavaError):
        swap(operations)
    assert operations.committed == []


def test_refusals_end_after_some_attempts() -> None:
    operations = FakeOperations([JavaError("CommitFailedException")] * 3)

    with pytest.raises(JavaError):
        swap(operations)
