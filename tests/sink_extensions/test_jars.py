"""Where the sink's jar is looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from finalization.exceptions import ConfigurationError
from sink_extensions import jars


def test_the_environment_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jar = tmp_path / "mine.jar"
    jar.touch()
    monkeypatch.setenv(jars.JAR_VARIABLE, str(jar))
    assert jars.jar_path() == jar


def test_a_named_jar_that_is_missing_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(jars.JAR_VARIABLE, str(tmp_path / "none.jar"))
    with pytest.raises(ConfigurationError, match="which is not a file"):
        jars.jar_path()


def test_none_and_several_are_errors_that_name_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(jars.JAR_VARIABLE, raising=False)
    monkeypatch.setattr(jars, "__file__", str(tmp_path / "jars.py"))
    with pytest.raises(ConfigurationError, match="make jar"):
        jars.jar_path()
    (tmp_path / "jars").mkdir()
    for version in ("1", "2"):
        (tmp_path / "jars" / f"iceberg-finalization-sink-{version}.jar").touch()
    with pytest.raises(ConfigurationError, match="more than one sink jar"):
        jars.jar_path()
