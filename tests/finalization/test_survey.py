import pickle
from functools import partial
from pathlib import Path

import pytest

from finalization import survey as survey_module
from finalization.catalog import FinalizationClient
from finalization.exceptions import TableMissingError
from finalization.survey import survey
from tests.finalization.histories import START


@pytest.fixture
def in_parallel(monkeypatch):
    monkeypatch.setattr(survey_module, "_FROM_SO_MANY_ON_PARALLEL", 2)


def test_many_tables_are_read_in_parallel_and_a_broken_one_is_not_fatal(lake, in_parallel):
    broken = lake.create("lake.broken")
    for name in ("a", "b", "c"):
        lake.create(f"lake.{name}", watermark="2013-01-01T10:00:00Z")
    lake.client.catalog.create_table("lake.unrelated", lake.schema)
    Path(broken.metadata_location.removeprefix("file://")).unlink()
    rows = list(survey(partial(FinalizationClient.open, lake.config, {}), None, None, START))
    assert [(row.table, row.code) for row in rows] == [
        ("lake.a", "warming-up"),
        ("lake.b", "warming-up"),
        ("lake.broken", "error"),
        ("lake.c", "warming-up"),
    ]


def test_a_named_table_that_is_missing_is_told_from_any_process(lake, in_parallel):
    lake.create("lake.a")
    with pytest.raises(TableMissingError, match=r"no table lake\.x; did you mean lake\.a"):
        list(survey(partial(FinalizationClient.open, lake.config, {}), ["lake.a", "lake.x"], None, START))


def test_a_missing_table_survives_the_way_between_processes():
    error = pickle.loads(pickle.dumps(TableMissingError("lake.x", "did you mean lake.y?")))
    assert str(error) == "there is no table lake.x; did you mean lake.y?"
