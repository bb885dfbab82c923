"""Where the fetched jars are."""

import os
from pathlib import Path

from local_stack.exceptions import LocalStackError

JAR_SETS = ("flink", "hadoop", "spark", "kafka")
_DEFAULT_ROOT = Path(__file__).parent.parent / "build" / "jars"


def jars(jar_set: str) -> list[Path]:
    """Returns the jars of one set (`flink`, `hadoop`, `spark`, `kafka`), sorted by name.

    They are under `build/jars/<set>`, or under the folder the environment variable FINALIZATION_JARS names.
    Raises LocalStackError if the set was never fetched.
    """
    folder = Path(os.environ.get("FINALIZATION_JARS", _DEFAULT_ROOT)) / jar_set
    found = sorted(folder.glob("*.jar"))
    if not found:
        raise LocalStackError(
            f"no jar of the set '{jar_set}' in {folder} (sets: {', '.join(JAR_SETS)}). "
            "Fetch them with `make jars`, or name the folder that has them in FINALIZATION_JARS"
        )
    return found


def class_path(jar_set: str) -> str:
    """Returns the jars of one set as a Java class path."""
    return os.pathsep.join(str(jar) for jar in jars(jar_set))
