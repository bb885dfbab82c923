"""Measures what docs/choosing-a-policy.md claims of speed: `python -m examples.measure`.

The status of 1,000 tables of a SQL catalog, each with 100 commits; and a backtest of 10,000 commits under
20 policies.
"""

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import monotonic

from pyiceberg.schema import Schema
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.table.update import AddSnapshotUpdate, SetSnapshotRefUpdate
from pyiceberg.types import LongType, NestedField

from finalization.backtest import Backtest, PastCommit
from finalization.catalog import FinalizationClient, open_catalog
from finalization.catalog_config import CatalogConfig
from finalization.digest import of_values
from finalization.facts import PREFIX, Facts, Partitions, from_summary
from finalization.policy import Policy
from finalization.survey import survey
from finalization.times import Granularity, parse_instant

START = parse_instant("2013-01-01T00:00Z")
MINUTE = 60_000
HOURS = Granularity.parse("hour")


def facts_of(minute: int) -> dict[str, str]:
    """A commit of 1,000 records in 30 centroids, spread over the hour before it."""
    newest = START + minute * MINUTE
    values = [newest - k * k * 4000 for k in range(30)]
    counts: dict[int, int] = {}
    for value in values:
        counts[HOURS.index(value)] = counts.get(HOURS.index(value), 0) + 1
    facts = {
        "count": str(len(values)),
        "nulls": "0",
        "rejected": "0",
        "min-ms": str(min(values)),
        "max-ms": str(max(values)),
        "digest": of_values(values).encode(),
        "partitions": Partitions.of(HOURS, counts).encode(),
    }
    return {PREFIX + key: text for key, text in facts.items()}


def timed(what: str, run: Callable[[], object]) -> None:
    start = monotonic()
    run()
    print(f"{what}: {monotonic() - start:.2f} s")


def measure_status(folder: Path, tables: int = 1000, commits: int = 100) -> None:
    config = CatalogConfig("ice", "sql", f"sqlite:///{folder}/catalog.db", f"file://{folder}/warehouse")
    catalog = open_catalog(config)
    catalog.create_namespace("lake")
    properties = {"finalization.event-time-column": "t", "finalization.watermark": "2013-01-01T00:00:00Z"}
    table = catalog.create_table("lake.t0", Schema(NestedField(1, "t", LongType())), properties=properties)
    changes = []
    for number in range(1, commits + 1):
        summary = Summary(Operation.APPEND, **facts_of(number))
        parent = number - 1 if number > 1 else None
        fields = {"snapshot-id": number, "parent-snapshot-id": parent, "sequence-number": number}
        fields |= {"timestamp-ms": table.metadata.last_updated_ms + number, "manifest-list": "none"}
        changes.append(AddSnapshotUpdate(snapshot=Snapshot(summary=summary, **fields)))
    head = {"ref-name": "main", "type": "branch", "snapshot-id": commits}
    catalog.commit_table(table, (), (*changes, SetSnapshotRefUpdate(**head)))
    location = catalog.load_table("lake.t0").metadata_location
    for number in range(1, tables):
        catalog.register_table(f"lake.t{number}", location)
    opener = partial(FinalizationClient.open, config, {})
    timed(
        f"status of {tables} tables, {commits} commits each", lambda: list(survey(opener, None, None, START))
    )


def measure_backtest(commits: int = 10_000) -> None:
    summaries = [facts_of(number) for number in range(commits)]

    def policy(**values: object) -> Policy:
        return Policy.from_properties(
            {f"finalization.{k.replace('_', '-')}": str(v) for k, v in values.items()}
        )

    def read() -> list[PastCommit]:
        found: list[Facts | None] = [from_summary(summary) for summary in summaries]
        return [PastCommit(START + i * MINUTE, facts) for i, facts in enumerate(found)]

    policies = [
        policy(lookback_commits=x, statistic=s) for x in (6, 12) for s in ("min", "p1", "p5", "p25", "p50")
    ]
    policies += [
        policy(rule="lateness", lookback_commits=x, lateness_quantile=q)
        for x in (12, 288)
        for q in (0.5, 0.75, 0.9, 0.95, 0.99)
    ]

    def run() -> None:
        runner = Backtest(read())
        for one in policies:
            runner.replay(one)

    timed(f"backtest of {commits} commits under {len(policies)} policies, summaries read included", run)


if __name__ == "__main__":
    measure_backtest()
    with tempfile.TemporaryDirectory() as folder:
        measure_status(Path(folder))
