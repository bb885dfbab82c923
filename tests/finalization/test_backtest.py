import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finalization.backtest import Backtest, PastCommit, best, commits_of
from finalization.candidates import candidates
from finalization.exceptions import ConfigurationError
from finalization.facts import from_accumulator
from finalization.lateness import count_late
from finalization.lineage import Snapshot
from finalization.policy import Policy
from finalization.scan import DataFile, scan_commits
from finalization.watermark import decide
from tests.finalization.histories import HOUR, MINUTE, START, accumulator_of, summary_of


def policy(**values: str) -> Policy:
    named = {f"finalization.{key.replace('_', '-')}": text for key, text in values.items()}
    return Policy.from_properties({"finalization.event-time-column": "t", **named})


POLICIES = st.builds(
    policy,
    rule=st.sampled_from(["minimum", "lateness"]),
    lookback_commits=st.integers(1, 5).map(str),
    statistic=st.sampled_from(["min", "max", "p5", "p50", "p99"]),
    lateness_quantile=st.sampled_from(["0.5", "0.9", "1"]),
    allowed_lateness=st.sampled_from(["PT0S", "PT90M"]),
    idle=st.sampled_from(["hold", "source-watermark"]),
    granularity=st.sampled_from(["hour", "day", "PT15M"]),
    time_zone=st.sampled_from(["Europe/Berlin", "Asia/Kolkata"]),
)
# None: someone else's commit; a list: minutes after the commit's time. And whether the source told.
HISTORIES = st.lists(
    st.tuples(st.none() | st.lists(st.integers(-900, 60), max_size=8), st.booleans()), max_size=40
)


@settings(max_examples=300, deadline=None)
@given(HISTORIES, POLICIES)
def test_a_replay_is_what_the_algorithm_would_have_done(history, tried):
    lineage: list[Snapshot] = []
    watermark = None
    late = 0
    for number, (minutes, told) in enumerate(history, start=1):
        now = START + number * 20 * MINUTE
        summary = {"added-data-files": "1"}
        if minutes is not None:
            values = [now + minute * MINUTE for minute in minutes]
            summary |= summary_of(values, source_watermark=now - MINUTE if told else None)
            late += count_late(from_accumulator(accumulator_of(values)), watermark).records
        lineage.insert(0, Snapshot(number, number - 1 or None, now, "append", summary))
        watermark = decide(lineage, tried, watermark).watermark
    replay = Backtest(commits_of(lineage)).replay(tried)
    assert (replay.watermark_ms, replay.late_records) == (watermark, late)


def hourly(hours: int, late_by: int = 0) -> list[PastCommit]:
    """A commit every 10 minutes whose records are `late_by` minutes old."""
    times = [START + 10 * MINUTE * i for i in range(6 * hours)]
    return [PastCommit(t, from_accumulator(accumulator_of([t - late_by * MINUTE]))) for t in times]


def test_waits_run_from_a_partitions_end_to_its_finalization():
    replay = Backtest(hourly(10)).replay(policy(lookback_commits="3"))
    assert replay.wait_median_ms == 20 * MINUTE
    assert (replay.partitions, replay.final, replay.late_records) == (9, 9, 0)


def test_partitions_never_finalized_count_as_waiting():
    replay = Backtest(hourly(10)).replay(policy(lookback_commits="1000"))
    assert (replay.final, replay.partitions) == (0, 9)
    assert replay.wait_p95_ms == 8 * HOUR + 50 * MINUTE


def test_a_checkpoint_without_snapshot_counts_as_none():
    commits = hourly(2)
    empty = from_accumulator(accumulator_of([]))
    padded = [c for commit in commits for c in (commit, PastCommit(commit.timestamp_ms, empty, False))]
    for tried in (policy(lookback_commits="4"), policy(lookback_commits="4", rule="lateness")):
        plain, filled = Backtest(commits).replay(tried), Backtest(padded).replay(tried)
        assert plain.watermark_ms == filled.watermark_ms


def test_the_best_trade_off_is_the_shortest_wait_within_the_late_share():
    commits = [*hourly(10), PastCommit(START + 11 * HOUR, from_accumulator(accumulator_of([START])))]
    runner = Backtest(commits)
    quick, slow = (runner.replay(policy(lookback_commits=x)) for x in ("1", "1000"))
    assert quick.late_records == 1
    assert best([quick, slow], 0.5) is quick
    assert best([quick, slow], 0.001) is slow
    assert not quick.beats(slow)
    assert not slow.beats(quick)
    assert best([], 0.1) is None


def test_commits_are_taken_from_a_time():
    lineage = [Snapshot(i, None, START + i * HOUR, "append", summary_of([START])) for i in (3, 2, 1)]
    assert [c.timestamp_ms for c in commits_of(lineage, START + 2 * HOUR, START + 3 * HOUR)] == [
        START + 2 * HOUR
    ]


def test_rows_make_facts_for_tables_without():
    files = [
        DataFile(2, START + HOUR, lambda: [START + HOUR, None]),
        DataFile(1, START, lambda: [START, START + 1, START]),
        DataFile(1, START, lambda: [START - HOUR]),
    ]
    seen = []
    first, second = scan_commits(files, advance=lambda: seen.append(1))
    assert (first.timestamp_ms, first.facts.count, first.facts.min_ms) == (START, 4, START - HOUR)
    assert first.facts.partitions.counts == {START // HOUR - 1: 1, START // HOUR: 3}
    assert (second.facts.count, second.facts.nulls) == (1, 1)
    assert len(seen) == 3
    assert len(scan_commits(files, from_ms=START + 1)) == 1


def test_policies_are_changes_to_the_tables_own():
    own = {
        "finalization.event-time-column": "t",
        "finalization.lookback-commits": "7",
        "finalization.watermark": "x",
    }
    tried = dict(candidates(own, ["statistic=p5, granularity=day"]))
    assert tried["the table's own"].lookback_commits == 7
    changed = tried["statistic=p5 granularity=day"]
    assert (changed.lookback_commits, changed.statistic, changed.granularity.label) == (7, "p5", "day@UTC")
    assert len(candidates(own, [])) > 10


@pytest.mark.parametrize("text", ["statistic", "statistic=p200", "statistik=p5"])
def test_a_wrong_policy_is_refused(text):
    with pytest.raises(ConfigurationError):
        candidates({}, [text])
