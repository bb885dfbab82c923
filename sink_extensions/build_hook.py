"""Wheel build hook: puts the sink's jar, built beforehand with `make jar`, into the wheel.

It only copies and verifies: no jar, or more than one, is an error. An editable install needs no jar; the code
finds it in the build folder.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class JarBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds `sink_extensions/java/target/iceberg-finalization-sink-*.jar` to the wheel as package data."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        target = Path(self.root) / "sink_extensions" / "java" / "target"
        found = sorted(target.glob("iceberg-finalization-sink-*.jar"))
        if len(found) != 1:
            names = ", ".join(path.name for path in found) or "none"
            raise RuntimeError(
                f"expected exactly one sink jar in {target}, found {names}; run `make clean jar`"
            )
        build_data["force_include"][str(found[0])] = f"sink_extensions/jars/{found[0].name}"
