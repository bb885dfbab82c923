import re
from pathlib import Path

import pytest

from finalization.exceptions import ConfigurationError
from local_stack.jars import JAR_SETS, class_path, jars

POMS = Path(__file__).parents[2] / "local_stack" / "jars"


def test_the_jars_of_a_set_come_sorted_from_the_named_folder(tmp_path, monkeypatch):
    for name in ("b.jar", "a.jar", "notes.txt"):
        (tmp_path / "flink").mkdir(exist_ok=True)
        (tmp_path / "flink" / name).touch()
    monkeypatch.setenv("FINALIZATION_JARS", str(tmp_path))
    assert [jar.name for jar in jars("flink")] == ["a.jar", "b.jar"]
    assert class_path("flink") == f"{tmp_path}/flink/a.jar:{tmp_path}/flink/b.jar"


def test_a_set_that_was_not_fetched_is_an_error_that_names_the_command(tmp_path, monkeypatch):
    monkeypatch.setenv("FINALIZATION_JARS", str(tmp_path))
    with pytest.raises(ConfigurationError, match="make jars"):
        jars("flink")


def test_every_set_has_a_pom_and_every_pom_is_a_set():
    assert {pom.name.removesuffix(".pom.xml") for pom in POMS.glob("*.pom.xml")} == set(JAR_SETS)


@pytest.mark.parametrize("jar_set", JAR_SETS)
def test_versions_are_pinned_and_no_address_but_the_namespace_is_written(jar_set):
    pom = (POMS / f"{jar_set}.pom.xml").read_text()
    assert (
        pom.count("<dependency>") == len(re.findall(r"</artifactId>\s*<version>[\w.-]+</version>", pom)) - 2
    )
    assert re.findall(r"\w+://\S+", pom) == ['http://maven.apache.org/POM/4.0.0">']
