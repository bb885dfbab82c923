"""docs/extending.md shows what the tests run, and every option that the sink reads."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sink_extensions.options import OPTIONS
from sink_extensions.options_doc import FILE, render

ROOT = Path(__file__).parent.parent.parent
JAVA = ROOT / "sink_extensions" / "java" / "src" / "main" / "java"
EXAMPLES = ROOT / "examples" / "extending"
FILES = {"python": "*.py", "java": "java/**/*.java", "sql": "sql/*.sql", "sh": "*.sh"}
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", FILE.read_text(), re.MULTILINE | re.DOTALL)


def is_part(block: list[str], lines: list[str]) -> bool:
    """Whether lines stand in a file one after another, all of them indented alike."""
    for start, line in enumerate(lines):
        if line.endswith(block[0]):
            indent = line.removesuffix(block[0])
            quoted = [indent + text if text else "" for text in block]
            if not indent.strip() and lines[start : start + len(block)] == quoted:
                return True
    return False


@pytest.mark.parametrize(("language", "block"), BLOCKS, ids=[block[:40] for _, block in BLOCKS])
def test_a_block_of_code_is_part_of_an_example(language: str, block: str) -> None:
    if language in ("console", "text"):
        return
    files = [path.read_text().splitlines() for path in EXAMPLES.glob(FILES[language])]
    assert any(is_part(block.splitlines(), lines) for lines in files)


def test_every_sql_example_is_shown_whole() -> None:
    shown = {block for language, block in BLOCKS if language == "sql"}
    assert shown == {path.read_text() for path in EXAMPLES.glob("sql/*.sql")}


def test_the_table_of_options_is_what_the_declaration_says() -> None:
    assert FILE.read_text() == render(FILE.read_text()), "run: python -m sink_extensions.options_doc"


def test_the_declared_options_are_those_that_the_sink_reads() -> None:
    sources = "".join(path.read_text() for path in JAVA.rglob("*.java"))
    assert set(re.findall(r'"(sink\.[a-z.-]+)"', sources)) == {option.key for option in OPTIONS}
