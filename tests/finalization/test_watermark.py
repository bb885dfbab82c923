import inspect
from typing import ClassVar

import pytest

from finalization import watermark
from finalization.policy import Policy
from finalization.times import format_instant, parse_instant
from finalization.watermark import EmptyCheckpoint, decide, rank_quantile
from tests.finalization.histories import HOUR, MINUTE, START, lineage_of, summary_of


def policy(**values: str) -> Policy:
    properties = {f"finalization.{key.replace('_', '-')}": text for key, text in values.items()}
    return Policy.from_properties(
        {"finalization.event-time-column": "t", "finalization.lookback-commits": "3"} | properties
    )


def times(*minutes: int) -> dict[str, str]:
    return summary_of([START + minute * MINUTE for minute in minutes])


EMPTY = summary_of([])


def test_without_an_event_time_column_finalization_is_off():
    decision = decide(lineage_of(times(0)), Policy(), None)
    assert (decision.code, decision.watermark) == ("off", None)


def test_watermark_holds_while_fewer_than_x_commits_have_facts():
    decision = decide(lineage_of(times(0), times(70)), policy(), None)
    assert decision.reason.startswith("warming-up 2/3: ")
    assert decision.watermark is None


def test_watermark_is_the_least_minimum_rounded_down():
    decision = decide(lineage_of(times(130, 140), times(125, 200), times(180)), policy(), None)
    assert decision.advances
    assert format_instant(decision.watermark) == "2013-01-01T12:00:00Z"
    assert "snapshot 2" in decision.reason


def test_commits_older_than_x_do_not_count():
    decision = decide(lineage_of(times(0), times(130), times(125), times(180)), policy(), None)
    assert format_instant(decision.watermark) == "2013-01-01T12:00:00Z"


def test_an_event_time_on_the_boundary_is_not_final():
    decision = decide(lineage_of(times(120), times(120), times(120)), policy(), None)
    assert decision.watermark == START + 2 * HOUR


def test_allowed_lateness_is_subtracted_before_rounding_down():
    decision = decide(lineage_of(times(125), times(125), times(125)), policy(allowed_lateness="PT10M"), None)
    assert decision.watermark == START + HOUR


@pytest.mark.parametrize(("statistic", "hours"), [("min", 0), ("p10", 2), ("p75", 3), ("max", 3)])
def test_statistic_stands_for_a_commits_event_times(statistic, hours):
    facts = times(5, *range(120, 240))
    decision = decide(lineage_of(facts, facts, facts), policy(statistic=statistic), None)
    assert decision.watermark == START + hours * HOUR


def test_empty_commits_count_towards_x():
    decision = decide(lineage_of(times(125), EMPTY, EMPTY), policy(), None)
    assert decision.watermark == START + 2 * HOUR


def test_watermark_never_goes_back():
    current = START + 5 * HOUR
    decision = decide(lineage_of(times(0), times(130), times(125)), policy(), current)
    assert (decision.code, decision.watermark) == ("not-newer", current)
    assert "snapshot 1" in decision.reason


def test_compaction_is_skipped():
    lineage = lineage_of(
        times(125), None, times(130), None, times(135), operations={2: "replace", 4: "replace"}
    )
    assert decide(lineage, policy(), None).watermark == START + 2 * HOUR


@pytest.mark.parametrize("operation", ["append", "overwrite", "delete"])
def test_what_lies_behind_someone_elses_commit_does_not_count(operation):
    lineage = lineage_of(times(125), times(125), None, times(130), operations={3: operation})
    decision = decide(lineage, policy(), None)
    assert decision.reason == f"warming-up 1/3: snapshot 3 ({operation}) was written without facts"


def test_a_commit_that_changes_no_data_needs_no_facts():
    lineage = lineage_of(times(125), times(125), {"total-data-files": "4"}, times(130))
    assert decide(lineage, policy(), None).advances


def test_unreadable_facts_are_as_none_and_say_so():
    broken = times(125) | {"accumulator.event-time.count": "x"}
    decision = decide(lineage_of(times(125), times(125), broken, times(130)), policy(), None)
    assert decision.code == "warming-up"
    assert "snapshot 3 has unreadable facts" in decision.reason


def test_an_unreadable_digest_matters_only_to_percentiles():
    broken = times(125) | {"accumulator.event-time.digest": "?"}
    lineage = lineage_of(times(125), times(125), broken)
    assert decide(lineage, policy(), None).advances
    assert "unreadable facts" in decide(lineage, policy(statistic="p50"), None).reason


def test_expired_snapshots_are_named_as_the_reason():
    decision = decide(lineage_of(times(1), times(2), times(3))[:2], policy(), None)
    assert "expired" in decision.reason
    assert "history.expire.min-snapshots-to-keep" in decision.reason


def test_an_empty_table_says_so():
    assert decide([], policy(), None).reason.startswith("warming-up 0/3: ")


def test_day_granularity_rounds_down_to_local_midnight():
    facts = times(0)
    decision = decide(
        lineage_of(facts, facts, facts), policy(granularity="day", time_zone="Asia/Kolkata"), None
    )
    assert format_instant(decision.watermark) == "2012-12-31T18:30:00Z"


class TestIdle:
    def empty(self, source_watermark: int | None) -> dict[str, str]:
        return summary_of([], source_watermark=source_watermark)

    def test_watermark_holds_when_all_commits_are_empty(self):
        decision = decide(lineage_of(EMPTY, EMPTY, EMPTY), policy(), START)
        assert (decision.code, decision.watermark) == ("idle", START)

    def test_the_sources_watermark_finalizes_quiet_hours(self):
        quiet = lineage_of(*[self.empty(START - 59 * MINUTE + i * MINUTE) for i in range(3)])
        decision = decide(quiet, policy(idle="source-watermark"), START - 3 * HOUR)
        assert decision.watermark == START - HOUR

    def test_watermark_holds_when_the_source_stopped_telling(self):
        quiet = lineage_of(self.empty(START), self.empty(START), self.empty(None))
        decision = decide(quiet, policy(idle="source-watermark"), None)
        assert (decision.code, decision.watermark) == ("idle", None)

    @pytest.mark.parametrize("instant", [2**63 - 1, -(2**63), START + 30 * HOUR])
    def test_the_beginning_and_end_of_time_are_no_watermarks(self, instant):
        quiet = lineage_of(*[self.empty(instant)] * 3)
        assert decide(quiet, policy(idle="source-watermark"), None).code == "idle"


class TestLatenessRule:
    """Snapshots are a minute apart, the first at START + 1 minute."""

    RULE: ClassVar = {"rule": "lateness", "lateness_quantile": "0.5"}

    def late_by(self, *minutes: int) -> list[dict[str, str]]:
        return [times(number - late) for number, late in enumerate(minutes, start=1)]

    def test_watermark_is_as_of_minus_usual_lateness(self):
        decision = decide(lineage_of(*self.late_by(5, 2, 90)), policy(granularity="PT1M", **self.RULE), None)
        assert decision.watermark == START + (3 - 5) * MINUTE

    def test_at_least_the_allowed_lateness_is_assumed(self):
        decision = decide(
            lineage_of(*self.late_by(5, 2, 90)),
            policy(granularity="PT1M", allowed_lateness="PT7M", **self.RULE),
            None,
        )
        assert decision.watermark == START + (3 - 7) * MINUTE

    def test_empty_commits_do_not_count_towards_x(self):
        lineage = lineage_of(*self.late_by(5, 2), EMPTY, EMPTY)
        assert decide(lineage, policy(**self.RULE), None).reason.startswith("warming-up 2/3")

    def test_as_of_does_not_move_with_the_clock_of_empty_commits(self):
        filled = self.late_by(5, 5, 5)
        rule = policy(granularity="PT1M", **self.RULE)
        assert decide(lineage_of(*filled, EMPTY, EMPTY), rule, None).watermark == START - 2 * MINUTE

    def test_as_of_follows_the_source_over_empty_commits(self):
        quiet = summary_of([], source_watermark=START + 4 * MINUTE)
        rule = policy(granularity="PT1M", **self.RULE)
        assert decide(lineage_of(*self.late_by(5, 5, 5), quiet), rule, None).watermark == START - MINUTE

    def test_as_of_follows_the_source_over_checkpoints_that_made_no_commit(self):
        from finalization.facts import from_summary

        rule = policy(granularity="PT1M", **self.RULE)
        quiet = from_summary(summary_of([], source_watermark=START + 8 * MINUTE))
        checkpoint = EmptyCheckpoint(START + 9 * MINUTE, quiet)
        decision = decide(lineage_of(*self.late_by(5, 5, 5)), rule, None, checkpoint)
        assert decision.watermark == START + 3 * MINUTE

    def test_a_source_whose_clock_is_ahead_is_not_read_beyond_the_commit(self):
        ahead = summary_of([], source_watermark=START + 30 * MINUTE)
        rule = policy(granularity="PT1M", **self.RULE)
        assert decide(lineage_of(*self.late_by(5, 5, 5), ahead), rule, None).watermark == START - MINUTE


def test_quantiles_are_by_nearest_rank():
    values = list(range(1, 13))
    assert [rank_quantile(values, share) for share in (0.01, 0.5, 0.75, 0.95, 1.0)] == [1, 6, 9, 12, 12]
    assert rank_quantile([7], 0.5) == 7


def test_no_lookback_reads_more_of_the_lineage_than_it_needs():
    def lineage():
        yield from lineage_of(times(125), times(125), times(125))
        raise AssertionError("read on")

    assert decide(lineage(), policy(), None).advances


def test_the_algorithm_reads_no_clock():
    source = inspect.getsource(watermark)
    assert "now(" not in source
    assert "import time" not in source


def test_poisoned_records_do_not_move_the_watermark():
    """The sink keeps them out of the bounds; the algorithm must not look at their counts."""
    honest = times(125, 126)
    poisoned = honest | {"accumulator.event-time.rejected": "3", "accumulator.event-time.nulls": "2"}
    assert decide(lineage_of(honest, honest, honest), policy(), None) == decide(
        lineage_of(poisoned, poisoned, poisoned), policy(), None
    )


def test_a_watermark_is_a_partition_boundary_of_any_year():
    facts = summary_of([parse_instant("2262-01-01T00:30Z")])
    decision = decide(lineage_of(facts, facts, facts), policy(), None)
    assert format_instant(decision.watermark) == "2262-01-01T00:00:00Z"
