"""A commit processor in Python."""

from finalization.commit import CommitContext


class Audit:
    """Signs each snapshot, and keeps in the table how far it is audited."""

    def pre_commit(self, ctx: CommitContext) -> None:
        """Before the commit. Raise to abort: nothing is written, the job fails over and tries again."""
        ctx.set_snapshot_property("audit.facts", ",".join(sorted(ctx.accumulators)))

    def post_commit(self, ctx: CommitContext) -> None:
        """The snapshot is durable. Called again after a restart, and once at start: must be idempotent."""
        if ctx.snapshot_id is None:
            return  # an empty checkpoint made no snapshot
        while not ctx.compare_and_set_properties({"audit.last-snapshot": str(ctx.snapshot_id)}):
            ctx.refresh()  # someone changed the table meanwhile: look again, try again
