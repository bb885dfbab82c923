import json
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from typer.testing import CliRunner

from finalization.cli.app import create_app, main
from tests.finalization.histories import HOUR, MINUTE, START

runner = CliRunner()


def run(*arguments: str):
    return runner.invoke(create_app([]), list(arguments))


def run_main(monkeypatch, capsys, *arguments: str) -> tuple[int, str]:
    """Through the real entry, which turns errors into a line and an exit code."""
    monkeypatch.setattr(sys, "argv", ["finalization", *arguments])
    monkeypatch.setattr("finalization.cli.app.entry_points", lambda group: [])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code, capsys.readouterr().err


def test_wait_ends_at_once_when_everything_is_final(lake):
    lake.create(watermark="2013-01-01T10:00:00Z")
    result = run("wait", "lake.flights_cdc", "--until", "2013-01-01T10:00Z", *lake.options)
    assert (result.exit_code, result.stdout) == (
        0,
        "final: lake.flights_cdc is final up to 2013-01-01T10:00:00Z\n",
    )


def test_wait_times_out_while_a_table_is_not_final(lake):
    lake.create(watermark="2013-01-01T10:00:00Z")
    lake.create("lake.other")
    arguments = ["--until", "2013-01-01T10:00Z", "--timeout", "100ms", "--poll", "50ms"]
    result = run("wait", "lake.flights_cdc", "lake.other", *arguments, *lake.options)
    assert result.exit_code == 3
    assert "lake.other is final up to –" in result.stderr


def test_wait_outlasts_a_table_that_is_made_later(lake, monkeypatch):
    def create(_):
        lake.create(watermark="2013-01-01T11:00:00Z")

    monkeypatch.setattr("finalization.cli.wait.time.sleep", create)
    assert run("wait", "lake.flights_cdc", "--until", "2013-01-01T10:00Z", *lake.options).exit_code == 0


def test_wait_tells_a_missing_table_at_its_timeout(lake):
    result = run("wait", "lake.none", "--until", "2013-01-01T10:00Z", "--timeout", "50ms", *lake.options)
    assert (result.exit_code, "there is no table lake.none" in result.stderr) == (4, True)


def test_wait_tells_a_missing_table_at_once_if_it_must_exist(lake, monkeypatch, capsys):
    arguments = ["wait", "lake.none", "--until", "2013-01-01T10:00Z", "--must-exist", *lake.options]
    code, error = run_main(monkeypatch, capsys, *arguments)
    assert (code, error.count("\n")) == (4, 1)


def test_wait_tells_an_unreachable_catalog(tmp_path):
    catalog = ["--property", "type=sql", "--property", f"uri=sqlite:///{tmp_path}/none.db"]
    result = run("wait", "a.b", "--until", "2013-01-01T10:00Z", "--patience", "0s", *catalog)
    assert (result.exit_code, "no SQLite catalog" in result.stderr) == (5, True)


def test_wait_tells_machines_in_json(lake):
    lake.create(watermark="2013-01-01T10:00:00Z")
    result = run("wait", "lake.flights_cdc", "--until", "2013-01-01T10:00Z", "--json", *lake.options)
    assert json.loads(result.stdout) == {
        "final": True,
        "until": "2013-01-01T10:00:00Z",
        "watermarks": {"lake.flights_cdc": "2013-01-01T10:00:00Z"},
    }


@pytest.mark.parametrize("until", ["noon", "2013-01-01T10:00"])
def test_a_wrong_instant_is_one_clear_line(lake, monkeypatch, capsys, until):
    code, error = run_main(monkeypatch, capsys, "wait", "lake.t", "--until", until, *lake.options)
    assert code == 2
    assert error.startswith("error: --until: ")
    assert error.count("\n") == 1


def test_an_error_is_one_line_without_traceback(lake, monkeypatch, capsys):
    code, error = run_main(monkeypatch, capsys, "status", "lake.none", *lake.options)
    assert (code, error.count("\n"), "Traceback" in error) == (4, 1, False)


def test_status_tells_why_the_watermark_stands(lake):
    table = lake.create(lookback_commits="3")
    lake.append(table, [START])
    result = run("status", "lake.flights_cdc", *lake.options)
    assert result.exit_code == 0
    assert "warming-up 1/3: that is the whole history so far" in result.stdout


def test_status_of_all_tables_in_json(lake):
    table = lake.create(lookback_commits="1", watermark="2013-01-01T09:00:00Z")
    lake.append(table, [START + MINUTE], {"finalization.late-records": "2"})
    lake.create("lake.base", event_time_column="_event_time")
    lake.client.catalog.create_table("lake.unrelated", lake.schema)
    rows = json.loads(run("status", "--json", "--sort", "name", *lake.options).stdout)
    assert [row["table"] for row in rows] == ["lake.base", "lake.flights_cdc"]
    assert rows[1]["code"] == "pending"
    assert rows[1]["watermark"] == "2013-01-01T09:00:00Z"
    assert (rows[1]["commits"], rows[1]["records"], rows[1]["late_records"]) == (1, 1, 2)


def test_status_filters_by_name(lake):
    lake.create()
    lake.create("lake.other")
    rows = json.loads(run("status", "--json", "--filter", "*_cdc", *lake.options).stdout)
    assert [row["table"] for row in rows] == ["lake.flights_cdc"]


def test_status_fails_when_a_watermark_lags_too_much(lake):
    lake.create(watermark="2013-01-01T10:00:00Z")
    result = run("status", "--max-lag", "3h", *lake.options)
    assert (result.exit_code, "1 of 1 tables lag more than 3h: lake.flights_cdc" in result.stderr) == (
        6,
        True,
    )
    assert run("status", "--max-lag", "100000d", *lake.options).exit_code == 0


def test_a_broken_table_is_a_row_and_not_fatal(lake):
    broken = lake.create()
    lake.create("lake.good", watermark="2013-01-01T10:00:00Z")
    Path(broken.metadata_location.removeprefix("file://")).unlink()
    rows = json.loads(run("status", "--json", "--sort", "name", *lake.options).stdout)
    assert [row["code"] for row in rows] == ["error", "warming-up"]


def test_a_wrong_policy_is_the_reason(lake):
    lake.create(statistic="p101")
    [row] = json.loads(run("status", "lake.flights_cdc", "--json", *lake.options).stdout)
    assert row["reason"].startswith("error: finalization.statistic is 'p101'")


def test_history_shows_each_commit_and_its_spread(lake):
    table = lake.create(watermark="2013-01-01T11:00:00Z")
    lake.append(table, [START, START + HOUR])
    lake.append(table, [START + 2 * HOUR])
    result = run("history", "lake.flights_cdc", *lake.options)
    assert result.exit_code == 0
    assert "━" in result.stdout
    assert "watermark 2013-01-01T11:00:00Z" in result.stdout
    rows = json.loads(run("history", "lake.flights_cdc", "--json", *lake.options).stdout)
    assert [row["records"] for row in rows] == [2, 1]
    assert rows[0]["max"] == "2013-01-01T11:00:00Z"


def test_history_of_an_empty_table_says_so(lake):
    lake.create()
    assert "no snapshots yet" in run("history", "lake.flights_cdc", *lake.options).stdout


def test_a_broken_plugin_costs_its_own_commands_only(capsys):
    plugins = [
        EntryPoint("broken", "no.such.module:register", "finalization.commands"),
        EntryPoint("works", "tests.finalization.plugin:register", "finalization.commands"),
    ]
    app = create_app(plugins)
    assert "command 'broken' is not available" in capsys.readouterr().err
    assert runner.invoke(app, ["hello"]).stdout == "hello\n"


def test_the_command_line_starts_without_heavy_imports():
    heavy = [
        "pyiceberg",
        "pydantic",
        "pyarrow",
        "sqlalchemy",
        "requests",
        "yaml",
        "matplotlib",
        "numpy",
        "tdigest",
    ]
    code = f"""
import sys
from finalization.cli.app import create_app
create_app([])
print([m for m in {heavy} if m in sys.modules])
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
