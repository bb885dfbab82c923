"""Work on a branch of the base table, and its publication by one commit of metadata."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spark_upsert import leases
from spark_upsert.exceptions import MaintenanceError, RivalPublishedError, UpsertError
from spark_upsert.iceberg import MAIN, JavaMetadata, JavaTable, swap_metadata
from spark_upsert.job import CURSOR

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Properties = Callable[[JavaMetadata], Mapping[str, str | None]]
"""The properties to set, computed from the metadata they are set in; a property that is None is removed."""


class MainMoved(Exception):  # noqa: N818 - the signal to start over, never shown
    """Someone else wrote into the base table's main branch since this attempt branched off."""


@dataclass(frozen=True)
class Claim:
    """A private branch at main's snapshot. `cursor` is the base table's when the batch was planned."""

    branch: str
    main_id: int
    cursor: str | None


def claim(spark: SparkSession, base: JavaTable, cursor: str | None, now_ms: int) -> Claim:
    """Branches off main, and removes branches of runs that ended without a word, in one commit.

    A branch's name says until when its run may live (its lease), so that no live rival loses its branch. No
    upsert waits for another's lease: whoever publishes first wins.

    Raises RivalPublishedError if the cursor moved since the batch was planned, MaintenanceError if the table
    is being compacted.
    """
    if base.currentSnapshot() is None:
        # A branch needs a snapshot to point to.
        base.newAppend().commit()
    name = leases.new_name(leases.UPSERT, now_ms)
    main_id: list[int] = []

    def change(metadata: JavaMetadata, builder: Any) -> bool:
        _refuse_moved_cursor(metadata, cursor)
        for ref in leases.live(metadata, leases.MAINTENANCE, now_ms):
            raise MaintenanceError(ref, leases.lease_end(ref) or now_ms)
        if metadata.ref(name) is not None:
            return False
        main_id[:] = [leases.add(spark, metadata, builder, name, now_ms)]
        return True

    swap_metadata(spark, base, change)
    return Claim(name, main_id[0], cursor)


def publish(spark: SparkSession, base: JavaTable, claimed: Claim, properties: Properties) -> None:
    """Moves main to the branch's snapshot, sets the properties and removes the branch: one commit, or
    nothing.

    Other commits in between that leave main alone, such as changed properties, stay as they are.

    Raises MainMoved if main is elsewhere than when the branch was made, RivalPublishedError if the cursor is.
    """

    def change(metadata: JavaMetadata, builder: Any) -> bool:
        branch = metadata.ref(claimed.branch)
        if branch is None:
            if metadata.properties().get(CURSOR) == properties(metadata)[CURSOR]:
                return False  # the commit before, whose answer was lost, did take place
            _refuse_moved_cursor(metadata, claimed.cursor)
            raise UpsertError(
                f"branch {claimed.branch} is gone: the run took longer than its lease, and another one "
                "cleaned up. "
                "Read less at a time: --max-snapshots"
            )
        _refuse_moved_cursor(metadata, claimed.cursor)
        if metadata.currentSnapshot().snapshotId() != claimed.main_id:
            raise MainMoved
        builder.setBranchSnapshot(branch.snapshotId(), MAIN)
        builder.removeRef(claimed.branch)
        _set_properties(spark, metadata, builder, properties(metadata))
        return True

    swap_metadata(spark, base, change)


def publish_properties(
    spark: SparkSession, base: JavaTable, cursor: str | None, properties: Properties
) -> bool:
    """Sets the properties by one commit; False if they are so already.

    Raises RivalPublishedError if the cursor is no longer `cursor`.
    """

    def change(metadata: JavaMetadata, builder: Any) -> bool:
        if all(metadata.properties().get(key) == value for key, value in properties(metadata).items()):
            return False
        _refuse_moved_cursor(metadata, cursor)
        _set_properties(spark, metadata, builder, properties(metadata))
        return True

    return swap_metadata(spark, base, change)


def abandon(spark: SparkSession, base: JavaTable, branch: str) -> None:
    """Removes a branch that will not be published."""

    def change(metadata: JavaMetadata, builder: Any) -> bool:
        if metadata.ref(branch) is None:
            return False
        builder.removeRef(branch)
        return True

    swap_metadata(spark, base, change)


def _refuse_moved_cursor(metadata: JavaMetadata, cursor: str | None) -> None:
    found = metadata.properties().get(CURSOR)
    if found != cursor:
        raise RivalPublishedError(
            f"another upsert published CDC snapshot {found} into this base table while this one was at work. "
            "Nothing "
            "is lost: its work stands, this run's was dropped, and the next run goes on from there"
        )


def _set_properties(
    spark: SparkSession, metadata: JavaMetadata, builder: Any, properties: Mapping[str, str | None]
) -> None:
    updates, removals = spark._jvm.java.util.HashMap(), spark._jvm.java.util.HashSet()
    for key, value in properties.items():
        if value is not None:
            updates.put(key, value)
        elif metadata.properties().get(key) is not None:
            removals.add(key)
    builder.setProperties(updates)
    builder.removeProperties(removals)
