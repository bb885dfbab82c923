from datetime import UTC, datetime
from pathlib import Path

import pytest

from finalization.catalog import FinalizationClient, open_catalog
from finalization.catalog_config import CatalogConfig
from finalization.exceptions import (
    CatalogUnreachableError,
    ConfigurationError,
    TableMissingError,
    UnreadableTableError,
)
from finalization.times import parse_instant
from finalization.watermark import decide
from tests.finalization.histories import HOUR, START


def test_a_watermark_is_an_aware_utc_datetime(lake):
    lake.create(watermark="2013-01-01T10:00:00Z")
    assert lake.client.watermark("lake.flights_cdc") == datetime(2013, 1, 1, 10, tzinfo=UTC)


def test_a_missing_table_or_property_is_not_yet(lake):
    lake.create()
    assert lake.client.watermark("lake.flights_cdc") is None
    assert lake.client.watermark("lake.nothing") is None
    assert lake.client.watermark("nowhere.nothing") is None


def test_a_missing_table_is_told_apart_by_who_asks_for_its_state(lake):
    lake.create()
    with pytest.raises(TableMissingError, match=r"no table lake\.flight_cdc; did you mean lake\.flights_cdc"):
        lake.client.state("lake.flight_cdc")


def test_a_name_without_namespace_is_a_mistake(lake):
    with pytest.raises(ConfigurationError, match=r"table is 'flights'; expected its full name"):
        lake.client.watermark("flights")


def test_a_mistyped_sqlite_path_is_unreachable_and_makes_no_catalog(tmp_path):
    config = CatalogConfig("ice", "sql", f"sqlite:///{tmp_path}/none.db")
    with pytest.raises(CatalogUnreachableError, match=r"none\.db"):
        FinalizationClient.open(config)
    assert not (tmp_path / "none.db").exists()


def test_a_dead_rest_catalog_is_unreachable():
    with pytest.raises(CatalogUnreachableError, match="catalog ice cannot be reached"):
        FinalizationClient.open(CatalogConfig("ice", "rest", "http://127.0.0.1:1/"))


def test_properties_that_make_no_catalog_are_a_mistake():
    with pytest.raises(ConfigurationError, match="catalog ice cannot be opened"):
        open_catalog("ice", {"type": "nonsense"})


def test_a_table_whose_metadata_is_gone_is_unreadable(lake):
    table = lake.create()
    Path(table.metadata_location.removeprefix("file://")).unlink()
    with pytest.raises(UnreadableTableError, match=r"the metadata of lake\.flights_cdc cannot be read"):
        lake.client.state("lake.flights_cdc")
    with pytest.raises(UnreadableTableError):
        lake.client.watermark("lake.flights_cdc")


def test_state_is_what_the_algorithm_reads(lake):
    table = lake.create(lookback_commits="2")
    for hours in (1, 2, 3):
        lake.append(table, [START + hours * HOUR])
    state = lake.client.state("lake.flights_cdc")
    assert [s.operation for s in state.lineage()] == ["append"] * 3
    assert next(state.lineage()).summary["added-records"] == "1"
    assert state.columns["source.ts_ms"] == "long"
    assert state.columns["_event_time"] == "timestamptz"
    assert decide(state.lineage(), state.policy(), None).watermark == START + 2 * HOUR
    assert list(lake.client.lineage("lake.flights_cdc")) == list(state.lineage())


def test_properties_are_set_without_touching_others(lake):
    lake.create(watermark="2013-01-01T10:00:00Z")
    other = FinalizationClient.open(lake.config)
    lake.client.set_properties("lake.flights_cdc", {"finalization.rule": "lateness", "a": "b"})
    other.set_properties("lake.flights_cdc", {"finalization.statistic": "max"}, ("a", "never-there"))
    properties = lake.client.properties("lake.flights_cdc")
    assert properties["finalization.rule"] == "lateness"
    assert properties["finalization.statistic"] == "max"
    assert properties["finalization.watermark"] == "2013-01-01T10:00:00Z"
    assert "a" not in properties


def test_compare_and_set_refuses_a_changed_value(lake):
    lake.create()
    key = "finalization.watermark"
    assert lake.client.compare_and_set("lake.flights_cdc", {key: None}, {key: "2013-01-01T10:00:00Z"})
    assert not lake.client.compare_and_set("lake.flights_cdc", {key: None}, {key: "2013-01-01T09:00:00Z"})
    watermark = lake.client.state("lake.flights_cdc").watermark_ms()
    assert watermark == parse_instant("2013-01-01T10:00Z")


def test_compare_and_set_is_checked_where_the_commit_happens(lake, monkeypatch):
    """Someone changes the value after it was compared and before the catalog commits."""
    lake.create()
    key = "finalization.watermark"
    commit = lake.client.catalog.commit_table

    def late_commit(*arguments):
        monkeypatch.setattr(lake.client.catalog, "commit_table", commit)
        FinalizationClient.open(lake.config).set_properties("lake.flights_cdc", {key: "2013-01-01T12:00:00Z"})
        return commit(*arguments)

    monkeypatch.setattr(lake.client.catalog, "commit_table", late_commit)
    assert not lake.client.compare_and_set("lake.flights_cdc", {key: None}, {key: "2013-01-01T10:00:00Z"})
    assert lake.client.properties("lake.flights_cdc")[key] == "2013-01-01T12:00:00Z"


def test_tables_of_all_namespaces_are_listed(lake):
    lake.client.catalog.create_namespace("other.inner")
    lake.create()
    lake.create("other.inner.t")
    assert lake.client.tables() == ["lake.flights_cdc", "other.inner.t"]
