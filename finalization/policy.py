"""A table's policy: the typed form of its `finalization.*` properties."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from finalization.exceptions import ConfigurationError
from finalization.options import BIGINT_FORMATS, BY_KEY, OPTIONS, PREFIX, WATERMARK
from finalization.times import HOUR_MS, Granularity

MINIMUM = "minimum"
LATENESS = "lateness"
HOLD = "hold"
SOURCE_WATERMARK = "source-watermark"

_TEMPORAL_TYPES = ("TIMESTAMP", "DATE")
_TEXT_TYPES = ("STRING", "VARCHAR", "CHAR")
_NUMBER_TYPES = ("BIGINT", "LONG")


@dataclass(frozen=True)
class Policy:
    """Times and durations in ms. Attributes are the keys of `finalization.options` without prefix."""

    event_time_column: str | None = None
    event_time_format: str | None = None
    rule: str = MINIMUM
    statistic: str = "min"
    lookback_commits: int = 12
    lateness_quantile: float = 0.95
    granularity: Granularity = field(default_factory=lambda: Granularity("hour", HOUR_MS))
    time_zone: str = "UTC"
    allowed_lateness: int = 0
    max_future: int = HOUR_MS
    min_event_time: int = 365 * 24 * HOUR_MS
    idle: str = HOLD
    alert_sinks: tuple[str, ...] = ("log",)
    alert_webhook_url: str | None = None
    alert_webhook_authorization: str | None = None
    alert_kafka_brokers: str | None = None
    alert_kafka_topic: str | None = None
    alert_kafka_properties: Mapping[str, str] | None = None

    @property
    def enabled(self) -> bool:
        """Whether the table asks for finalization at all."""
        return self.event_time_column is not None

    @property
    def percentile(self) -> float | None:
        """The percentile in percent, None for `min` and `max`."""
        return float(self.statistic[1:]) if self.statistic.startswith("p") else None

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> "Policy":
        """Reads full keys among all of a table's properties; keys nobody declared are left alone.

        Raises ConfigurationError for a wrong value or a contradiction, with the fix.
        """
        values: dict[str, Any] = {}
        for option in OPTIONS:
            values[option.name.replace("-", "_")] = option.read(properties.get(option.key))
        if values["granularity"].zone is not None:
            values["granularity"] = Granularity.parse("day", values["time_zone"])
        policy = cls(**values)
        _refuse_contradictions(policy)
        return policy


def _refuse_contradictions(policy: Policy) -> None:
    if policy.event_time_format and not policy.event_time_column:
        raise ConfigurationError.of(
            PREFIX + "event-time-column",
            None,
            "a column, as event-time-format is set",
            "set it, or remove the format",
        )
    needed = {
        "webhook": {"alert-webhook-url": policy.alert_webhook_url},
        "kafka": {
            "alert-kafka-brokers": policy.alert_kafka_brokers,
            "alert-kafka-topic": policy.alert_kafka_topic,
        },
    }
    for sink in policy.alert_sinks:
        for name, value in needed.get(sink, {}).items():
            if value is None:
                raise ConfigurationError.of(
                    PREFIX + name,
                    None,
                    f"a value, as alert-sinks has {sink}",
                    f"set it, or take {sink} out of {PREFIX}alert-sinks",
                )


def refuse_unknown_keys(properties: Mapping[str, str]) -> None:
    """Raises ConfigurationError for a `finalization.*` key that is none, and names the nearest one."""
    for key, text in properties.items():
        is_state = key == WATERMARK or key.startswith(WATERMARK + "@")
        if key.startswith(PREFIX) and key not in BY_KEY and not is_state:
            near = get_close_matches(key, BY_KEY, n=1)
            fix = f"did you mean {near[0]}?" if near else f"known keys: {', '.join(BY_KEY)}"
            raise ConfigurationError.of(key, text, "one of the declared keys; this is none", fix)


def refuse_unfit_column(column: str, type_name: str, event_time_format: str | None) -> None:
    """Checks the event time's type against its format.

    `type_name` is Flink's or Iceberg's, such as `BIGINT`, `long`, `TIMESTAMP_LTZ(3)` or `timestamptz`.
    Raises ConfigurationError with the fix.
    """
    name = type_name.strip().upper()
    format_key, column_key = PREFIX + "event-time-format", PREFIX + "event-time-column"
    if name.startswith(_NUMBER_TYPES):
        # Anything else may be the name or class of an extractor; the job knows which there are.
        if event_time_format is None or event_time_format == "iso-8601":
            raise ConfigurationError.of(
                format_key,
                event_time_format,
                f"one of {', '.join(BIGINT_FORMATS)} for the {type_name} column {column}",
                f"say in which unit the numbers count, for instance {format_key}=epoch-millis",
            )
    elif name.startswith(_TEXT_TYPES):
        if event_time_format in BIGINT_FORMATS:
            raise ConfigurationError.of(
                format_key,
                event_time_format,
                f"iso-8601 or a java.time pattern for the {type_name} column {column}",
                "remove the key, or give the pattern of the texts",
            )
    elif name.startswith(_TEMPORAL_TYPES):
        if event_time_format is not None and event_time_format in (*BIGINT_FORMATS, "iso-8601"):
            raise ConfigurationError.of(
                format_key, event_time_format, f"nothing: {column} is {type_name} already", "remove the key"
            )
    else:
        raise ConfigurationError.of(
            column_key,
            f"{column}, of type {type_name}",
            "a TIMESTAMP, TIMESTAMP_LTZ, DATE, BIGINT or STRING column",
            "choose another column, or compute one by an expression",
        )
