"""Where the jars that the engines run with are found."""

from __future__ import annotations

import os
from pathlib import Path

from finalization.exceptions import ConfigurationError

JARS_VARIABLE = "FINALIZATION_JARS"
_BUILD_FOLDER = Path(__file__).parent.parent / "build" / "jars"


def jar_set(name: str) -> list[Path]:
    """Return the jars of a set (`flink`, `hadoop`, `spark`, `kafka`), sorted by name.

    They are in `<root>/<name>/`, where the root is the environment's `FINALIZATION_JARS`, or `build/jars`
    in a checkout.

    Raises:
        ConfigurationError: if there are none; the message says how to get them.
    """
    folder = Path(os.environ.get(JARS_VARIABLE) or _BUILD_FOLDER) / name
    jars = sorted(folder.glob("*.jar"))
    if not jars:
        raise ConfigurationError(
            f"no jar of the set {name!r} in {folder}; fetch them with `make jars`, "
            f"or name the folder that holds {name}/ in {JARS_VARIABLE}"
        )
    return jars


def class_path(name: str) -> str:
    """Return the jars of a set as a Java class path."""
    return os.pathsep.join(str(jar) for jar in jar_set(name))
