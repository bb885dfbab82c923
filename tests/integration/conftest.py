"""What the tests of the extension guide share."""

import pytest

from examples.extending.shop import Shop


@pytest.fixture(scope="session")
def open_shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """One Flink session with the guide's own Java extensions, compiled for it."""
    return Shop.open(tmp_path_factory.mktemp("shop"))


@pytest.fixture
def shop(open_shop: Shop) -> Shop:
    """The session, with new tables."""
    open_shop.make_tables()
    return open_shop
