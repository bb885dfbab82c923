from finalization.options import OPTIONS
from finalization.options_doc import FILE, render


def test_the_document_is_what_the_declaration_says():
    assert FILE.read_text() == render(), "run: python -m finalization.options_doc"


def test_every_option_is_documented():
    text = FILE.read_text()
    for option in OPTIONS:
        assert f"| `{option.key}` |" in text
        assert option.doc
        assert option.form
