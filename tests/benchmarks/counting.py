"""A commit processor as a user would add: it writes one entry into each snapshot's summary."""

from finalization.commit import CommitContext


class CountingProcessor:
    def pre_commit(self, ctx: CommitContext) -> None:
        ctx.set_snapshot_property("bench.records", ctx.accumulators["event-time"]["count"])

    def post_commit(self, ctx: CommitContext) -> None:
        ctx.lineage(1)
