import json

import pytest

from demo.player import BAD_MESSAGES
from demo.topic import kind_of


@pytest.mark.parametrize("operation", ["c", "u", "d", "r"])
def test_an_envelope_with_a_row_operation_is_a_change(operation):
    assert kind_of(json.dumps({"before": None, "after": None, "op": operation}).encode()) == "changes"


def test_no_value_is_a_tombstone():
    assert kind_of(None) == "tombstones"


@pytest.mark.parametrize(
    "value", [*BAD_MESSAGES, b"", b"[1]", b"12", b'{"op": "c"}', b'{"op": "t", "after": null}']
)
def test_what_is_no_envelope_is_bad(value):
    assert kind_of(value) == "bad"
