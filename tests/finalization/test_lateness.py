import pytest
from hypothesis import given
from hypothesis import strategies as st

from finalization.exceptions import MalformedFactsError
from finalization.facts import from_accumulator
from finalization.lateness import NONE_LATE, count_late, from_summary, to_summary
from finalization.times import Granularity
from tests.finalization.histories import HOUR, MINUTE, START, accumulator_of


def facts(*minutes: int, granularity: str = "hour"):
    values = [START + minute * MINUTE for minute in minutes]
    return from_accumulator(accumulator_of(values, granularity=Granularity.parse(granularity)))


def test_nothing_is_late_before_there_is_a_watermark():
    assert count_late(facts(0, 1), None) == NONE_LATE


def test_records_at_the_watermark_are_not_late():
    assert count_late(facts(60, 90), START + HOUR) == NONE_LATE


def test_late_records_are_counted_by_partition():
    late = count_late(facts(0, 1, 61, 125, 130), START + 2 * HOUR)
    assert late.records == 3
    assert late.partitions is not None
    assert late.partitions.counts == {START // HOUR: 2, START // HOUR + 1: 1}
    assert late.exact


def test_an_empty_commit_brings_none():
    assert count_late(from_accumulator(accumulator_of([])), START) == NONE_LATE


@given(st.lists(st.integers(-60 * 24 * 10, 60 * 24 * 10), min_size=1, max_size=200), st.integers(-300, 300))
def test_counts_are_exact_at_any_boundary_near_the_newest(minutes, hours):
    watermark = START + hours * HOUR
    late = count_late(facts(*minutes), watermark)
    truth = sum(START + minute * MINUTE < watermark for minute in minutes)
    if late.exact:
        assert late.records == truth
    else:
        assert late.records >= truth


def test_a_watermark_of_another_granularity_gives_an_upper_bound_that_says_so():
    late = count_late(facts(5, 20, 70), START + 15 * MINUTE)
    assert (late.records, late.exact) == (2, False)


def test_all_records_before_the_watermark_are_exact_in_any_granularity():
    late = count_late(facts(5, 10), START + 15 * MINUTE)
    assert (late.records, late.exact) == (2, True)


def test_summed_up_old_partitions_are_late_as_a_whole():
    late = count_late(facts(*[60 * hour for hour in range(60)]), START + 59 * HOUR)
    assert (late.records, late.exact) == (59, True)
    assert late.partitions is not None
    assert late.partitions.older == 12


def test_what_is_written_to_the_summary_is_read_back():
    late = count_late(facts(0, 1, 61), START + 2 * HOUR)
    assert from_summary(to_summary(late)) == late
    assert to_summary(NONE_LATE) == {"finalization.late-records": "0"}
    assert from_summary({}) is None
    with pytest.raises(MalformedFactsError):
        from_summary({"finalization.late-records": "some"})
