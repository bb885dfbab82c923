"""Branches of the base table that say who is at work, and until when he may be."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from spark_upsert.iceberg import JavaMetadata

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

UPSERT, MAINTENANCE = "upsert", "maintain"
LEASE_MS = {UPSERT: 3_600_000, MAINTENANCE: 600_000}
"""How long a branch is left alone by others, counted from when it was made. Upserts hold off while
maintenance has one, so that is short: nobody may be alive behind it.
"""


def new_name(kind: str, now_ms: int) -> str:
    """A branch's name: `upsert_<end of the lease, epoch ms>_<random>`."""
    return f"{kind}_{now_ms + LEASE_MS[kind]}_{uuid.uuid4().hex[:8]}"


def lease_end(ref: str) -> int | None:
    """When the lease ends, in epoch milliseconds; None for a branch of anything else."""
    kind, _, rest = ref.partition("_")
    end = rest.partition("_")[0]
    return int(end) if kind in LEASE_MS and end.isdigit() else None


def live(metadata: JavaMetadata, kind: str, now_ms: int) -> list[str]:
    """Branches of this kind whose lease is not over."""
    refs = [str(ref) for ref in metadata.refs()]
    return [ref for ref in refs if ref.startswith(f"{kind}_") and (lease_end(ref) or 0) >= now_ms]


def add(spark: SparkSession, metadata: JavaMetadata, builder: Any, name: str, now_ms: int) -> int:
    """Adds a branch at main's snapshot and removes those whose lease is over; returns the snapshot's id."""
    for ref in [str(ref) for ref in metadata.refs()]:
        end = lease_end(ref)
        if end is not None and end < now_ms:
            builder.removeRef(ref)
    main_id = int(metadata.currentSnapshot().snapshotId())
    builder.setRef(name, spark._jvm.org.apache.iceberg.SnapshotRef.branchBuilder(main_id).build())
    return main_id
