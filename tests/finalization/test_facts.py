import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finalization.digest import Digest, decode
from finalization.exceptions import MalformedFactsError
from finalization.facts import Partitions, from_summary
from finalization.times import Granularity
from tests.finalization.histories import HOUR, HOURLY, START, summary_of

FIXTURE = json.loads((Path(__file__).parent.parent / "fixtures" / "facts.json").read_text())


@pytest.mark.parametrize("case", FIXTURE["digests"], ids=lambda case: case["name"])
def test_digests_are_read_as_java_writes_them(case):
    expected = Digest(
        case["min_ms"], case["max_ms"], tuple((mean, weight) for mean, weight in case["centroids"])
    )
    assert decode(case["base64"]) == expected
    assert expected.encode() == case["base64"]


@pytest.mark.parametrize("case", FIXTURE["partitions"], ids=lambda case: case["name"])
def test_partitions_are_read_as_java_writes_them(case):
    counts = {int(index): count for index, count in case["counts"].items()}
    expected = Partitions(Granularity.from_label(case["granularity"]), counts, case["older"])
    assert Partitions.decode(case["text"]) == expected
    assert expected.encode() == case["text"]


@given(st.dictionaries(st.integers(-1000, 500_000), st.integers(1, 10**9), min_size=1, max_size=80))
def test_partitions_survive_their_text_form_and_keep_every_record(counts):
    partitions = Partitions.of(HOURLY, counts)
    assert Partitions.decode(partitions.encode()) == partitions
    assert len(partitions.counts) <= 48
    assert sum(partitions.counts.values()) + partitions.older == sum(counts.values())
    assert max(partitions.counts) == max(counts)


def test_a_summary_without_facts_has_none():
    assert from_summary({"added-records": "3"}) is None


def test_facts_of_a_commit_are_read():
    facts = from_summary(summary_of([START, START + HOUR], nulls=2, rejected=1, source_watermark=START))
    assert facts is not None
    assert (facts.count, facts.nulls, facts.rejected) == (2, 2, 1)
    assert (facts.min_ms, facts.max_ms, facts.source_watermark_ms) == (START, START + HOUR, START)
    assert facts.digest.centroids == ((START, 1), (START + HOUR, 1))
    assert facts.partitions.counts == {START // HOUR: 1, START // HOUR + 1: 1}


def test_an_empty_commit_has_counts_only():
    facts = from_summary(summary_of([], nulls=4))
    assert facts is not None
    assert (facts.count, facts.nulls, facts.min_ms) == (0, 4, None)
    with pytest.raises(MalformedFactsError):
        _ = facts.digest


@pytest.mark.parametrize(
    "changes",
    [
        {"count": "many"},
        {"count": "-1"},
        {"min-ms": "noon"},
        {"min-ms": str(START + 9 * HOUR)},
        {"max-ms": ""},
    ],
)
def test_malformed_facts_are_told_from_missing_ones(changes):
    summary = summary_of([START, START + HOUR])
    summary |= {f"accumulator.event-time.{key}": text for key, text in changes.items()}
    with pytest.raises(MalformedFactsError, match=r"accumulator\.event-time"):
        from_summary(summary)


@pytest.mark.parametrize("text", ["", "hour", "hour|x:1|0", "hour|1:1|", "fortnight|1:1|0", "hour|1|0"])
def test_malformed_partitions_are_refused(text):
    with pytest.raises(MalformedFactsError):
        Partitions.decode(text)
