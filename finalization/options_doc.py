"""Writes `docs/options.md` from the declaration: `python -m finalization.options_doc`."""

from collections.abc import Iterable
from pathlib import Path

from finalization.options import OPTIONS, Option

FILE = Path(__file__).parent.parent / "docs" / "options.md"

_HEAD = """# Policy options

Made from `finalization/options.py` by `python -m finalization.options_doc`; a test compares the two.

They are properties of the CDC table. In a pipeline file they stand under `finalization:` without the
prefix; in a table, `finalization policy show|check|apply` reads and writes them, or `ALTER TABLE … SET`. A
running job follows a change at its next commit, or, where the table says so, writes its facts by it after a
restart. A wrong value never fails a job: the watermark holds, and `finalization status` says why.

"""

_TAIL = """
## State, not policy

| key | where | meaning |
|---|---|---|
| `finalization.watermark` | table property | Every event time before it is final. Only goes forward. |
| `finalization.watermark@<branch>` | table property | The same for a branch other than main. |
| `finalization.late-records` | snapshot summary | Records of the commit that were late. |
| `finalization.late-partitions` | snapshot summary | Late records by partition. |
"""


def render() -> str:
    """The whole file."""
    return _HEAD + table(OPTIONS) + _TAIL


def table(options: Iterable[Option]) -> str:
    """Options as a table."""
    rows = [
        "| key | default | takes | unit | meaning | takes effect |",
        "|---|---|---|---|---|---|",
    ]
    for option in options:
        default = f"`{option.default}`" if option.default is not None else "not set"
        cells = (f"`{option.key}`", default, option.form, option.unit, option.doc, option.takes_effect)
        rows.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    FILE.write_text(render())
