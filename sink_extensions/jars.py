"""Where the sink's jar and the jars it runs with are."""

from __future__ import annotations

import os
from pathlib import Path

from finalization.exceptions import ConfigurationError

JAR_VARIABLE = "FINALIZATION_SINK_JAR"
JAR_PATTERN = "iceberg-finalization-sink-*.jar"


def jar_path() -> Path:
    """Return the sink's jar: the environment's override, then the packaged one, then the build folder's.

    Raises:
        ConfigurationError: if there is none; the message names the command that builds it.
    """
    override = os.environ.get(JAR_VARIABLE)
    if override:
        path = Path(override)
        if not path.is_file():
            raise ConfigurationError(
                f"{JAR_VARIABLE} is {override!r}, which is not a file; name the sink's jar"
            )
        return path
    package = Path(__file__).parent
    for folder in (package / "jars", package / "java" / "target"):
        found = sorted(folder.glob(JAR_PATTERN))
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(path.name for path in found)
            raise ConfigurationError(f"more than one sink jar in {folder}: {names}; run `make clean jar`")
    raise ConfigurationError(
        f"the sink's jar was not found; build it with `make jar` or name it in {JAR_VARIABLE}"
    )
