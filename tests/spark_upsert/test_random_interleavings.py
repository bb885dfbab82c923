"""Whatever is emitted, emitted again, interrupted and rerun: the base table ends as the source."""

from contextlib import suppress
from dataclasses import dataclass, field
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from finalization.catalog_config import CatalogConfig
from spark_upsert.exceptions import RivalPublishedError
from tests.spark_upsert.cdc_table import UNAVAILABLE, CdcTable, Change, new_name
from tests.spark_upsert.test_publish import SuddenEnd

pytestmark = pytest.mark.integration

KEYS = 12
ROUNDS = 5


@dataclass
class Source:
    """A table with a key, a big text and a number, and the changes it emits."""

    random: Random
    rows: dict[int, tuple[str | None, int]] = field(default_factory=dict)
    log: list[Change] = field(default_factory=list)
    lsn: int = 100

    def act(self) -> None:
        self.lsn += self.random.randint(1, 9)
        if self.random.random() < 0.02:
            self.rows.clear()
            self.log.append(Change("t", self.lsn, {}))
            return
        key = self.random.randrange(KEYS)
        n = self.lsn
        if key not in self.rows:
            self.rows[key] = (self._text(), n)
            self._emit("c", key, self.rows[key])
            return
        action = self.random.choice(["update", "update", "touch", "touch", "delete", "rename"])
        text, _ = self.rows[key]
        if action == "update":
            self.rows[key] = (self._text(), n)
            self._emit("u", key, self.rows[key])
        elif action == "touch":  # the big text is not sent again
            self.rows[key] = (text, n)
            self._emit("u", key, (UNAVAILABLE, n))
        elif action == "delete":
            del self.rows[key]
            self._emit("d", key, ("fake", 0))
        else:
            self._rename(key, n)

    def _rename(self, key: int, n: int) -> None:
        free = [other for other in range(KEYS) if other not in self.rows]
        if free:
            new = self.random.choice(free)
            text, _ = self.rows.pop(key)
            self.rows[new] = (text, n)
            self._emit("d", key, ("fake", 0), order=1)
            self._emit("c", new, (UNAVAILABLE if self.random.random() < 0.5 else text, n), order=2)

    def _text(self) -> str | None:
        return self.random.choice([None, "", f"text {self.lsn}"])

    def _emit(self, op: str, key: int, row: tuple[str | None, int], order: int = 1) -> None:
        self.log.append(Change(op, self.lsn, {"id": key, "name": row[0], "n": row[1]}, order))


def interrupted(random: Random, cdc: CdcTable):
    """Now and then ends at a step, or lets a rival publish there."""
    step = random.choice(["opened", "claimed", "merged", "published"])
    event = random.choice(["end", "rival", "nothing"])

    def on_step(reached: str) -> None:
        if reached == step and event == "end":
            raise SuddenEnd
        if reached == step and event == "rival":
            cdc.upsert()

    return on_step


@settings(max_examples=4, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32))
def test_any_interleaving_ends_in_exactly_the_sources_rows(spark, catalog: CatalogConfig, seed: int) -> None:
    random = Random(seed)
    source = Source(random)
    deletes = random.choice(["hard", "soft"])
    cdc = CdcTable(spark, catalog, new_name(), deletes=deletes, truncate="apply")
    sent = hours = 0
    for _ in range(ROUNDS):
        for _ in range(random.randint(1, 3)):
            for _ in range(random.randint(1, 25)):
                source.act()
            # A restart emits again from some earlier place; a commit may hold copies.
            start = max(0, sent - random.choice([0, 0, 5, 40]))
            end = random.randint(sent, len(source.log))
            batch = source.log[start:end]
            sent = max(sent, end)
            if batch:
                cdc.commit(*batch, *random.choices(batch, k=random.choice([0, 3])))
            if random.random() < 0.5:
                hours += 1
                cdc.set_watermark(f"2013-01-01T{hours:02}:00:00Z")
        with suppress(SuddenEnd, RivalPublishedError):
            cdc.upsert(
                max_snapshots=random.choice([None, 1, 2]),
                rebuild=random.random() < 0.1,
                on_step=interrupted(random, cdc),
            )
        assert cdc.properties().get("finalization.watermark", "") <= (cdc.log_watermark() or "")
    if sent < len(source.log):
        cdc.commit(*source.log[sent:])
    while cdc.upsert().remaining:
        pass

    assert cdc.properties().get("finalization.watermark") == cdc.log_watermark()
    assert cdc.rows() == sorted((key, *row) for key, row in source.rows.items())
