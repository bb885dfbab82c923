"""Where the fetched jars are: the same folders that the jobs take theirs from."""

from pathlib import Path

from finalization.jars import class_path, jar_set

__all__ = ["JAR_SETS", "class_path", "jars"]

JAR_SETS = ("flink", "hadoop", "spark", "kafka")


def jars(name: str) -> list[Path]:
    """Returns the jars of one of JAR_SETS, sorted by name.

    Raises finalization's ConfigurationError, naming the command that fetches them, if there are none.
    """
    return jar_set(name)
