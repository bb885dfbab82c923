"""What the tests of the extension guide share."""

import os
from collections.abc import Iterator

import pytest

from examples.extending.shop import Shop


@pytest.fixture(scope="session")
def open_shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """One Flink session with the guide's own Java extensions, compiled for it."""
    return Shop.open(tmp_path_factory.mktemp("shop"))


@pytest.fixture
def shop(open_shop: Shop) -> Iterator[Shop]:
    """The session, with new tables.

    Flink runs Python functions of a local job in this process and leaves variables of theirs in its
    environment, one of which forbids other processes, if they inherit it, to start a JVM.
    """
    before = dict(os.environ)
    open_shop.make_tables()
    yield open_shop
    os.environ.clear()
    os.environ.update(before)
