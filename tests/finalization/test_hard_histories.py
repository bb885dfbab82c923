"""Generated histories: whatever happens to a table, its watermark keeps its promises."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from finalization.facts import PREFIX, Facts, from_summary
from finalization.lineage import Snapshot, walk
from finalization.policy import Policy
from finalization.processor import FinalizationProcessor
from finalization.watermark import decide
from tests.finalization.histories import HOUR, MINUTE, START, Context, Table, accumulator_of

MINUTES = st.lists(st.integers(-600, 600), max_size=6)
POLICIES = st.fixed_dictionaries(
    {
        "rule": st.sampled_from(["minimum", "lateness"]),
        "lookback_commits": st.integers(1, 4).map(str),
        "statistic": st.sampled_from(["min", "max", "p50"]),
        "allowed_lateness": st.sampled_from(["PT0S", "PT90M"]),
        "idle": st.sampled_from(["hold", "source-watermark"]),
        "granularity": st.sampled_from(["hour", "PT15M"]),
    }
)


class Inbox:
    def __init__(self) -> None:
        self.ids: list[str] = []

    def submit(self, alert, policy) -> None:
        self.ids.append(alert.id)


class HardHistory(RuleBasedStateMachine):
    """The state is a table; each rule is something that happens to tables in production."""

    @initialize(policy=POLICIES)
    def create(self, policy):
        self.table = Table(**policy)
        self.inbox = Inbox()
        self.processor = FinalizationProcessor(self.inbox)
        self.now = START
        self.highest: int | None = None
        self.late: dict[int, int] = {}
        self.values: list[list[int]] = []

    def facts(self, minutes: list[int], quiet: bool = False) -> dict[str, str]:
        values = [self.now + minute * MINUTE for minute in minutes]
        self.values.append(values)
        return accumulator_of(values, source_watermark=self.now - 5 * MINUTE if quiet else None)

    def before(self, accumulator: dict[str, str]) -> Context:
        context = Context(self.table, accumulator)
        self.processor.pre_commit(context)
        return context

    def write(self, context: Context) -> Snapshot:
        facts = {PREFIX + key: text for key, text in context.accumulators["event-time"].items()}
        snapshot = self.table.append(
            self.now, "append", {**facts, **context.written, "added-data-files": "1"}
        )
        context.snapshot_id = snapshot.snapshot_id
        context.refresh()
        return snapshot

    def after(self, context: Context) -> None:
        old = self.table.watermark
        self.processor.post_commit(context)
        new = self.table.watermark
        assert new == old or new == self.oracle(old), "moved although the rule does not allow it"
        if new == old:
            assert self.oracle(old) == old, "held although the rule asks for more"

    def commit(self, minutes: list[int], quiet: bool = False) -> None:
        self.now += 5 * MINUTE
        watermark = self.table.watermark
        context = self.before(self.facts(minutes, quiet))
        snapshot = self.write(context)
        truth = 0 if watermark is None else sum(value < watermark for value in self.values[-1])
        assert int(snapshot.summary["finalization.late-records"]) >= truth
        if watermark is None or watermark % HOUR == 0:  # else the hourly facts cannot tell exactly
            assert int(snapshot.summary["finalization.late-records"]) == truth
        self.late[snapshot.snapshot_id] = int(snapshot.summary["finalization.late-records"])
        self.after(context)

    @rule(minutes=MINUTES)
    def commits(self, minutes):
        self.commit(minutes)

    @rule(quiet=st.booleans())
    def empty_commit(self, quiet):
        self.commit([], quiet)

    @rule()
    def compaction(self):
        self.table.append(self.now, "replace", {"added-data-files": "1", "deleted-data-files": "9"})

    @rule(operation=st.sampled_from(["append", "overwrite", "delete"]))
    def foreign_commit(self, operation):
        self.table.append(self.now, operation, {"added-data-files": "1"})

    @rule(keep=st.integers(1, 5))
    def expiry(self, keep):
        self.table.expire(keep)

    @rule(steps=st.integers(1, 3))
    def rollback(self, steps):
        self.table.rollback(steps)

    @precondition(lambda self: self.values)
    @rule(back=st.integers(1, 5))
    def rewind_to_an_old_savepoint(self, back):
        """The source is read again from an earlier point: the same records come once more."""
        for values in self.values[-back:]:
            self.now += MINUTE
            context = self.before(accumulator_of(values))
            snapshot = self.write(context)
            self.late[snapshot.snapshot_id] = int(snapshot.summary["finalization.late-records"])
            self.after(context)

    @rule(minutes=MINUTES)
    def crash_after_the_commit(self, minutes):
        context = self.before(self.facts(minutes))
        snapshot = self.write(context)
        self.late[snapshot.snapshot_id] = int(snapshot.summary["finalization.late-records"])
        restarted = Context(self.table, None)
        restarted.snapshot_id = snapshot.snapshot_id
        self.after(restarted)

    @rule()
    def replay_of_what_happens_after_a_commit(self):
        version, alerts = self.table.version, set(self.inbox.ids)
        for _ in range(2):
            restarted = Context(self.table, None)
            restarted.snapshot_id = self.table.head
            self.processor.post_commit(restarted)
        assert self.table.version - version <= 1  # an advance that was still owed; never a second one
        assert set(self.inbox.ids) - alerts <= {f"{restarted.table}/main/{i}" for i in self.late}

    @rule(first=MINUTES, second=MINUTES, interference=st.integers(0, 3))
    def two_writers_race(self, first, second, interference):
        one, other = self.before(self.facts(first)), self.before(self.facts(second))
        for context in (one, other):
            snapshot = self.write(context)
            self.late[snapshot.snapshot_id] = int(snapshot.summary["finalization.late-records"])
        other.interference = interference
        self.processor.post_commit(other)
        # The one that comes second pinned its metadata before the other advanced.
        self.processor.post_commit(one)
        assert self.table.watermark == self.oracle(self.table.watermark)

    @rule(policy=POLICIES)
    def policy_change(self, policy):
        changes = {f"finalization.{key.replace('_', '-')}": text for key, text in policy.items()}
        self.table.properties = {**self.table.properties, **changes}
        self.table.version += 1

    @invariant()
    def watermark_never_goes_back(self):
        if not hasattr(self, "table"):
            return
        watermark = self.table.watermark
        if self.highest is not None:
            assert watermark is not None
            assert watermark >= self.highest
        self.highest = watermark

    @invariant()
    def every_decision_has_a_reason(self):
        if not hasattr(self, "table"):
            return
        policy = Policy.from_properties(self.table.properties)
        decision = decide(walk(self.table.snapshots, self.table.head), policy, self.table.watermark)
        assert decision.reason.startswith(decision.code)
        assert len(decision.reason) > len(decision.code) + 2
        assert decision.advances == (decision.watermark != self.table.watermark)

    @invariant()
    def each_commit_alerts_under_one_id(self):
        if not hasattr(self, "table"):
            return
        assert set(self.inbox.ids) <= {f"lake.flights_cdc/main/{i}" for i, late in self.late.items() if late}

    def oracle(self, current: int | None) -> int | None:
        """DESIGN's words once more, naively, with nothing of the implementation but reading facts."""
        policy = Policy.from_properties(self.table.properties)
        commits = []
        for snapshot in walk(self.table.snapshots, self.table.head):
            facts = from_summary(snapshot.summary)
            if snapshot.operation == "replace":
                continue
            if facts is None:
                break
            commits.append((snapshot.timestamp_ms, facts))
        by_rule = lateness_oracle if policy.rule == "lateness" else minimum_oracle
        candidate = by_rule(commits, policy)
        if candidate is None:
            return current
        length = {"hour": HOUR, "PT15M": 15 * MINUTE}[policy.granularity.label]
        candidate = candidate // length * length
        return candidate if current is None or candidate > current else current


def lateness_oracle(commits: list[tuple[int, Facts]], policy: Policy) -> int | None:
    filled = [(t, facts) for t, facts in commits if facts.count][: policy.lookback_commits]
    if len(filled) < policy.lookback_commits:
        return None
    until = commits.index(filled[-1])
    lateness = sorted(t - facts.min_ms for t, facts in filled)
    assumed = next(v for i, v in enumerate(lateness, 1) if i >= policy.lateness_quantile * len(lateness))
    told = [facts.source_watermark_ms for t, facts in commits[:until] if not facts.count]
    as_of = max([filled[0][0], *[instant for instant in told if instant is not None]])
    return as_of - max(policy.allowed_lateness, assumed)


def minimum_oracle(commits: list[tuple[int, Facts]], policy: Policy) -> int | None:
    last = [facts for _, facts in commits[: policy.lookback_commits]]
    if len(last) < policy.lookback_commits:
        return None
    values = []
    for facts in last:
        if facts.count:
            percentile = facts.digest.fast_percentile(50)
            values.append({"min": facts.min_ms, "max": facts.max_ms, "p50": percentile}[policy.statistic])
    if values:
        return min(values) - policy.allowed_lateness
    if policy.idle == "source-watermark" and last[0].source_watermark_ms is not None:
        return last[0].source_watermark_ms - policy.allowed_lateness
    return None


HardHistory.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestHardHistory = HardHistory.TestCase
