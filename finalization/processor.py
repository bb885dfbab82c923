"""The commit processor that keeps a table's watermark: counts late records, then decides and advances.

Loaded by the sink's worker; imports the pure domain only, so that the worker starts quickly.
"""

import logging
from collections.abc import Callable, Iterator
from time import time

from finalization.alert_delivery import AlertDelivery
from finalization.alerts import Alert
from finalization.commit import CommitContext
from finalization.exceptions import ConfigurationError, MalformedFactsError
from finalization.facts import ACCUMULATOR, Facts, from_accumulator
from finalization.lateness import count_late, from_summary, to_summary
from finalization.lineage import Snapshot
from finalization.policy import Policy, refuse_unknown_keys
from finalization.times import format_instant
from finalization.watermark import Decision, EmptyCheckpoint, decide
from finalization.watermark_property import read_watermark, watermark_key

logger = logging.getLogger(__name__)

MAX_ATTEMPTS = 20
"""So often an advance is tried against other writers of the table; the next commit tries anew."""


class FinalizationProcessor:
    """Implements `finalization.commit.CommitProcessor`. It never aborts a commit and never fails a job.

    Before the commit: records that are late by W as it stands are counted into the snapshot's summary.
    After it: W is decided from the lineage and advanced by compare-and-swap; when someone else changed the
    table, everything is read and decided anew. On the start-up call the same happens for the newest
    snapshot, which costs nothing if it happened before; alerts of the last X commits are handed out again
    then, with the same ids.
    """

    def __init__(self, alerts: AlertDelivery | None = None, now: Callable[[], float] = time) -> None:
        """`now` gives seconds since the epoch."""
        self._alerts = alerts or AlertDelivery()
        self._now = now

    def pre_commit(self, ctx: CommitContext) -> None:
        """Writes `finalization.late-records` and, if there are some, `finalization.late-partitions`."""
        try:
            facts = _facts(ctx)
            if facts is None:
                return
            late = count_late(facts, read_watermark(ctx.properties, ctx.branch))
        except (MalformedFactsError, ConfigurationError) as e:
            logger.error("%s: late records of checkpoint %d not counted: %s", ctx.table, ctx.checkpoint_id, e)
            return
        if not late.exact:
            logger.warning(
                "%s: at most %d records are late; the facts cannot tell exactly", ctx.table, late.records
            )
        for key, text in to_summary(late).items():
            ctx.set_snapshot_property(key, text)

    def post_commit(self, ctx: CommitContext) -> None:
        """Advances `finalization.watermark` where the policy says so; sends the commit's alert."""
        try:
            policy = Policy.from_properties(ctx.properties)
        except ConfigurationError as e:
            logger.error("%s: watermark holds: policy: %s", ctx.table, e)
            return
        self._advance(ctx)
        self._alert(ctx, policy)

    def _advance(self, ctx: CommitContext) -> None:
        for _ in range(MAX_ATTEMPTS):
            try:
                decision = _decide(ctx, int(self._now() * 1000))
            except ConfigurationError as e:
                logger.error("%s: watermark holds: policy: %s", ctx.table, e)
                return
            if not decision.advances or decision.watermark is None:
                logger.info("%s: watermark holds: %s", ctx.table, decision.reason)
                return
            text = format_instant(decision.watermark)
            if ctx.compare_and_set_properties({watermark_key(ctx.branch): text}):
                logger.info("%s: watermark %s: %s", ctx.table, text, decision.reason)
                return
            ctx.refresh()
        logger.warning(
            "%s: watermark holds: contended: %d attempts met other writers; the next commit tries again",
            ctx.table,
            MAX_ATTEMPTS,
        )

    def _alert(self, ctx: CommitContext, policy: Policy) -> None:
        if ctx.snapshot_id is None:
            return
        is_start = not ctx.accumulators
        for snapshot in _recent(ctx, policy.lookback_commits):
            if not is_start and snapshot.snapshot_id != ctx.snapshot_id:
                continue
            try:
                late = from_summary(snapshot.summary)
            except MalformedFactsError as e:
                logger.error("%s: no alert for snapshot %d: %s", ctx.table, snapshot.snapshot_id, e)
                continue
            if late is not None and late.records:
                alert = Alert(ctx.table, ctx.branch, snapshot.snapshot_id, snapshot.timestamp_ms, late)
                self._alerts.submit(alert, policy)


def _decide(ctx: CommitContext, now_ms: int) -> Decision:
    policy = Policy.from_properties(ctx.properties)
    try:
        refuse_unknown_keys(ctx.properties)
    except ConfigurationError as e:
        logger.warning("%s: ignored: %s", ctx.table, e)
    current = read_watermark(ctx.properties, ctx.branch)
    try:
        facts = _facts(ctx) if ctx.snapshot_id is None else None
    except MalformedFactsError:
        facts = None
    checkpoint = EmptyCheckpoint(now_ms, facts) if facts is not None and facts.count == 0 else None
    return decide(_all(ctx, policy.lookback_commits), policy, current, checkpoint)


def _facts(ctx: CommitContext) -> Facts | None:
    values = ctx.accumulators.get(ACCUMULATOR)
    return from_accumulator(values) if values else None


def _all(ctx: CommitContext, expected: int) -> Iterator[Snapshot]:
    """The whole lineage, fetched in growing pages: nearly always the first one is enough."""
    limit, seen = expected + expected // 2 + 2, 0
    while True:
        page = ctx.lineage(limit)
        yield from page[seen:]
        if len(page) < limit:
            return
        limit, seen = limit * 4, len(page)


def _recent(ctx: CommitContext, count: int) -> list[Snapshot]:
    return ctx.lineage(count + count // 2 + 2)
