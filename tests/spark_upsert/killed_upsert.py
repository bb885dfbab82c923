"""An upsert in its own process, killed after a step: `python -m … CATALOG JOB STEP`, twice JSON."""

import json
import os
import signal
import sys

from finalization.catalog_config import CatalogConfig
from spark_upsert.job import UpsertJob
from spark_upsert.runner import now_ms
from spark_upsert.session import create_session
from spark_upsert.upsert import upsert


def main() -> None:
    catalog, job, step = json.loads(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3]

    def end(reached: str) -> None:
        if reached == step:
            os.kill(os.getpid(), signal.SIGKILL)

    job["primary_key"] = tuple(job["primary_key"])
    upsert(create_session(CatalogConfig(**catalog)), UpsertJob(**job), now_ms=now_ms, on_step=end)


if __name__ == "__main__":
    main()
