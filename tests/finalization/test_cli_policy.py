import json

import pytest
from typer.testing import CliRunner

from finalization.cli.app import create_app
from finalization.exceptions import ConfigurationError, FinalizationError
from tests.finalization.histories import HOUR, MINUTE, START

TABLE = "lake.flights_cdc"
runner = CliRunner()


def run(*arguments: str):
    return runner.invoke(create_app([]), list(arguments))


def error_of(*arguments: str) -> str:
    result = run(*arguments)
    assert isinstance(result.exception, FinalizationError), result.output
    return str(result.exception)


def test_apply_writes_the_policy_and_keeps_enough_history(lake):
    lake.create()
    result = run(
        "policy", "apply", TABLE, "--set", "lookback-commits=50", "--set", "statistic=p5", *lake.options
    )
    assert result.exit_code == 0
    properties = lake.client.properties(TABLE)
    assert properties["finalization.lookback-commits"] == "50"
    assert properties["finalization.statistic"] == "p5"
    assert int(properties["history.expire.min-snapshots-to-keep"]) > 50


def test_apply_never_lowers_the_history_that_is_kept(lake):
    lake.create()
    lake.client.set_properties(TABLE, {"history.expire.min-snapshots-to-keep": "500"})
    run("policy", "apply", TABLE, "--set", "lookback-commits=5", *lake.options)
    assert lake.client.properties(TABLE)["history.expire.min-snapshots-to-keep"] == "500"


def test_apply_takes_keys_back_to_their_default(lake):
    lake.create(statistic="p5")
    run("policy", "apply", TABLE, "--unset", "statistic", *lake.options)
    assert "finalization.statistic" not in lake.client.properties(TABLE)


def test_apply_twice_changes_nothing(lake):
    lake.create()
    arguments = ("policy", "apply", TABLE, "--set", "statistic=p5", *lake.options)
    run(*arguments)
    location = lake.client.catalog.load_table(TABLE).metadata_location
    assert "nothing to change" in run(*arguments).stdout
    assert lake.client.catalog.load_table(TABLE).metadata_location == location


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ("statistic=p101", "finalization.statistic is 'p101'; expected min, max or a percentile"),
        ("granularity=PT7H", "finalization.granularity is 'PT7H'"),
        ("event-time-column=id", "expected one of epoch-seconds"),
        ("event-time-column=source.ts_ms", "expected one of epoch-seconds"),
        ("event-time-column=nothing", "expected one of the table's columns: id, "),
        ("alert-sinks=webhook", "alert-webhook-url is not set"),
        ("lookback-commit=3", "did you mean finalization.lookback-commits"),
        ("watermark=2013-01-01T10:00Z", "is kept by the job"),
    ],
)
def test_contradictions_are_refused_with_the_fix_and_nothing_is_written(lake, change, text):
    lake.create()
    before = lake.client.properties(TABLE)
    for command in ("check", "apply"):
        assert text in error_of("policy", command, TABLE, "--set", change, *lake.options)
    assert lake.client.properties(TABLE) == before


def test_check_notes_what_has_no_effect(lake):
    lake.create(rule="lateness", statistic="p5", time_zone="Asia/Kolkata")
    output = run("policy", "check", TABLE, *lake.options).stdout
    assert "finalization.statistic means nothing to rule lateness" in output
    assert "time-zone matters for granularity day only" in output


def test_check_notes_that_quiet_hours_wait_for_empty_commits(lake):
    lake.create(idle="source-watermark")
    assert "flink.max-continuous-empty-commits=1" in run("policy", "check", TABLE, *lake.options).stdout
    lake.client.set_properties(TABLE, {"flink.max-continuous-empty-commits": "1"})
    assert "note" not in run("policy", "check", TABLE, *lake.options).stdout


def test_check_without_anything_says_what_it_needs():
    assert isinstance(run("policy", "check").exception, ConfigurationError)


def test_show_tells_values_from_defaults(lake):
    lake.create(statistic="p5")
    rows = {
        row["key"]: row for row in json.loads(run("policy", "show", TABLE, "--json", *lake.options).stdout)
    }
    assert (rows["finalization.statistic"]["value"], rows["finalization.statistic"]["set"]) == ("p5", True)
    assert rows["finalization.rule"]["value"] == "minimum"
    assert rows["finalization.rule"]["set"] is False
    assert "finalization.granularity" in run("policy", "show", TABLE, *lake.options).stdout


def test_late_lists_reopened_partitions(lake):
    table = lake.create()
    index = START // HOUR
    late = {"finalization.late-records": "3", "finalization.late-partitions": f"hour|{index}:2,1:1|0"}
    lake.append(table, [START], late)
    lake.append(table, [START], {"finalization.late-records": "0"})
    again = {"finalization.late-records": "5", "finalization.late-partitions": f"hour|{index}:1|4"}
    lake.append(table, [START], again)
    rows = json.loads(run("late", TABLE, "--json", *lake.options).stdout)
    assert [(row["start"], row["records"], row["commits"]) for row in rows] == [
        (None, 4, 1),
        ("2013-01-01T10:00:00Z", 3, 2),
        ("2013-01-01T11:00:00Z", 1, 1),
    ]
    assert "older" in run("late", TABLE, *lake.options).stdout
    assert json.loads(run("late", TABLE, "--json", "--since", "2h", *lake.options).stdout) == rows
    assert (
        json.loads(run("late", TABLE, "--json", "--since", "2100-01-01T00:00Z", *lake.options).stdout) == []
    )


def test_backtest_compares_policies_and_draws_them(lake, tmp_path):
    table = lake.create(lookback_commits="2")
    for number in range(6):
        lake.append(table, [START + number * HOUR + minute * MINUTE for minute in (1, 30)])
    file = tmp_path / "curve.svg"
    arguments = [
        "--policy",
        "lookback-commits=1",
        "--policy",
        "rule=lateness lookback-commits=3",
        "--plot",
        str(file),
    ]
    result = run("backtest", TABLE, "--json", *arguments, *lake.options)
    rows = json.loads(result.stdout)
    assert [row["policy"] for row in rows] == ["the table's own", *arguments[1:4:2]]
    assert all(row["records"] == 12 for row in rows)
    assert sum(row["best"] for row in rows) == 1
    assert file.read_text().startswith("<?xml")
    assert "6 commits" in run("backtest", TABLE, *lake.options).stdout


def test_backtest_scans_rows_of_a_table_without_facts(lake):
    table = lake.create(lookback_commits="1")
    rows = __import__("pyarrow").Table.from_pylist(
        [{"id": 1, "_event_time": 0}], schema=table.schema().as_arrow()
    )
    table.append(rows)
    assert "--scan reads the rows" in error_of("backtest", TABLE, *lake.options)
    [own, *_] = json.loads(run("backtest", TABLE, "--scan", "--json", *lake.options).stdout)
    assert (own["commits"], own["records"]) == (1, 1)


def test_a_plot_of_another_ending_is_refused(lake, tmp_path):
    lake.append(lake.create(), [START])
    assert ".png or .svg" in error_of("backtest", TABLE, "--plot", str(tmp_path / "x.jpg"), *lake.options)


def test_export_writes_prometheus_text(lake, tmp_path):
    lake.create(watermark="2013-01-01T10:00:00Z")
    file = tmp_path / "tables.prom"
    assert run("export", "--output", str(file), *lake.options).exit_code == 0
    text = file.read_text()
    assert 'finalization_watermark_timestamp_seconds{table="lake.flights_cdc"} 1357034400\n' in text
    assert 'finalization_state{table="lake.flights_cdc",code="warming-up"} 1\n' in text
    assert text.count("# TYPE finalization_watermark_lag_seconds gauge") == 1
    assert run("export", *lake.options).stdout.splitlines()[0].startswith("# HELP")
