"""Runs the examples of docs/extending.md: `python -m examples.extending [NAME …]`."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

from examples.extending import data_stream, table_api
from examples.extending.shop import Shop

EXAMPLES: dict[str, Callable[[Shop], None]] = {
    "sql-properties": lambda shop: shop.run_sql("properties"),
    "sql-hints": lambda shop: shop.run_sql("hints"),
    "field-stats": lambda shop: shop.run_sql("field_stats"),
    "event-time-reader": lambda shop: shop.run_sql("event_time"),
    "table-api": lambda shop: table_api.write(shop.incoming()),
    "statement-set": lambda shop: table_api.write_both(shop.t_env, shop.incoming(), shop.incoming()),
    "data-stream": lambda shop: data_stream.write(shop.env, shop.t_env, shop.stream()),
    "watermarks": lambda shop: shop.run_timed(),
    "java-data-stream": lambda shop: shop.run_java(),
}
# What the examples leave in a table; the rest is Iceberg's and Flink's own.
_OURS = ("accumulator.", "audit.", "revenue-gate.", "finalization.")


def main() -> None:
    """Run the examples named, in a temporary folder."""
    parser = argparse.ArgumentParser(prog="python -m examples.extending", description=__doc__)
    parser.add_argument(
        "names", metavar="NAME", nargs="*", help=f"out of {', '.join(EXAMPLES)}; default: all"
    )
    names = parser.parse_args().names or list(EXAMPLES)
    if unknown := set(names) - set(EXAMPLES):
        parser.error(f"there is no example {', '.join(unknown)}")
    with tempfile.TemporaryDirectory() as folder:
        shop = Shop.open(Path(folder))
        for name in names:
            run(shop, name)


def run(shop: Shop, name: str) -> None:
    """Run an example on new tables, and print what it left in snapshot and table."""
    shop.make_tables()
    EXAMPLES[name](shop)
    print(f"== {name}")
    for text, found in (("snapshot", shop.summary()), ("table", shop.table().properties)):
        for key in sorted(found):
            if key.startswith(_OURS):
                print(f"{text:8}  {key} = {found[key]}")


if __name__ == "__main__":
    main()
