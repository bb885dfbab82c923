"""Writes the table of options into `docs/extending.md`: `python -m sink_extensions.options_doc`."""

from pathlib import Path

from finalization.options_doc import table
from sink_extensions.options import OPTIONS

FILE = Path(__file__).parent.parent / "docs" / "extending.md"
_BEGIN = "<!-- options: written by python -m sink_extensions.options_doc -->\n"
_END = "<!-- end of options -->\n"


def render(document: str) -> str:
    """The document with the table as the declaration has it."""
    head, _, rest = document.partition(_BEGIN)
    _, _, tail = rest.partition(_END)
    return f"{head}{_BEGIN}{table(OPTIONS)}{_END}{tail}"


if __name__ == "__main__":
    FILE.write_text(render(FILE.read_text()))
