"""Compaction and expiry beside a running upsert."""

import pytest

from spark_upsert import leases
from spark_upsert.exceptions import MaintenanceError
from spark_upsert.maintenance import maintain
from tests.spark_upsert.cdc_table import CdcTable, now_ms

pytestmark = pytest.mark.integration


def test_maintenance_compacts_and_expires_but_keeps_what_the_next_upsert_needs(cdc: CdcTable) -> None:
    for lsn in range(1, 4):
        cdc.changes(("c", lsn, lsn, "a", lsn), ("u", lsn + 10, 1, "b", lsn))
        cdc.upsert()
    cdc.changes(("u", 20, 2, "new", 2))
    cdc.changes(("d", 21, 3, "", 0))
    before = cdc.rows()

    done = maintain(cdc.spark, cdc.job, keep_ms=0, now_ms=now_ms)

    assert cdc.rows() == before
    assert done.base_files_before > done.base_files_after
    assert len(cdc.base().snapshots()) == 1
    assert list(cdc.base().refs()) == ["main"]
    # The log has no facts here, so nothing says that the watermark could do without its oldest commits.
    assert done.cdc_snapshots_expired == 0
    cdc.upsert()
    assert cdc.rows() == [(1, "b", 3), (2, "new", 2)]


def test_an_upsert_holds_off_while_the_table_is_maintained(cdc: CdcTable) -> None:
    cdc.changes(("c", 1, 1, "a", 1))
    cdc.upsert()
    cdc.changes(("c", 2, 2, "b", 2))
    lease = leases.new_name(leases.MAINTENANCE, now_ms())
    cdc.sql(f"ALTER TABLE {{base}} CREATE BRANCH `{lease}`")

    with pytest.raises(MaintenanceError, match=lease):
        cdc.upsert()
    with pytest.raises(MaintenanceError, match=lease):
        maintain(cdc.spark, cdc.job, keep_ms=0, now_ms=now_ms)
    cdc.sql(f"ALTER TABLE {{base}} DROP BRANCH `{lease}`")

    assert cdc.upsert().outcome == "published"
