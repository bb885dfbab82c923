"""What a TRUNCATE of the source means for the base table."""

from dataclasses import dataclass

from spark_upsert.exceptions import ChangeRefusedError
from spark_upsert.job import UpsertJob


@dataclass(frozen=True)
class Truncation:
    """`position` is that of the newest TRUNCATE known, in this batch or applied before; changes up to it
    count no more. `new` is the same if the base table's rows have not seen it yet.
    """

    position: str | None
    new: str | None

    def cut(self, lowest_position: str) -> str | None:
        """The position that a batch's changes must be beyond; None if all of them are anyway."""
        return self.position if self.position is not None and lowest_position <= self.position else None


def plan(job: UpsertJob, found: str | None, applied: str | None, rebuild: bool) -> Truncation:
    """What becomes of the newest TRUNCATE `found` in a batch; `applied` is the base table's mark.

    A TRUNCATE takes its lock on the whole table, so whatever changed before it has a lower position, in
    whatever order the messages come: one mark is enough to know an older change that comes again.

    Raises ChangeRefusedError if there is a new one and the pipeline does not say that it is to be applied.
    """
    if found is not None and (applied is None or found > applied) and job.truncate == "refuse":
        raise ChangeRefusedError(
            f"the source table was truncated at position {found}. To remove the rows from {job.base}, too "
            f"(deletes: {job.deletes}), set upsert.truncate to apply in the pipeline file and run the upsert "
            "again; after that it may be refuse again"
        )
    if rebuild:  # the log tells everything anew
        return Truncation(found, None)
    if found is None or (applied is not None and found <= applied):
        return Truncation(applied, None)
    return Truncation(found, found)
