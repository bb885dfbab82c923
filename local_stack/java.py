"""Command lines of small Java servers."""

from pathlib import Path

from local_stack.jars import class_path

_LOGGING = Path(__file__).with_name("log4j2.properties")


def java_command(main_class: str, *arguments: str | Path, heap_mb: int) -> list[str]:
    """A Java program of the jar set `kafka`, tuned to start quickly and stay small."""
    return [
        "java",
        f"-Xmx{heap_mb}m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        f"-Dlog4j2.configurationFile={_LOGGING}",
        "-cp",
        class_path("kafka"),
        main_class,
        *(str(argument) for argument in arguments),
    ]


def write_properties(path: Path, properties: dict[str, str]) -> Path:
    """Writes a Java properties file and returns its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    return path
