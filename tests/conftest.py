"""What several test folders share."""

from collections.abc import Iterator

import pytest

from local_stack.stack import Stack


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """PostgreSQL, Kafka and Connect, started when the first test asks for them and shared by the whole run.

    Use your own table, topic and connector names.
    """
    with Stack(tmp_path_factory.mktemp("stack")) as running:
        yield running
