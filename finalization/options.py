"""Every policy key, declared once: key, type, default, unit, meaning, validator. Makes `docs/options.md`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from finalization.exceptions import ConfigurationError
from finalization.option_values import (
    by_reference,
    choice,
    instant,
    integer,
    kafka_properties,
    share,
    sinks,
    statistic,
    text,
    webhook_url,
)
from finalization.times import Granularity, parse_duration, parse_zone

PREFIX = "finalization."

WATERMARK = PREFIX + "watermark"
"""Table property that holds W of branch main. State, not policy: only processors and the upsert write it."""

LATE_RECORDS = PREFIX + "late-records"
LATE_PARTITIONS = PREFIX + "late-partitions"
"""Snapshot summary keys written by the commit that brings late records."""

BIGINT_FORMATS = ("epoch-seconds", "epoch-millis", "epoch-micros", "epoch-nanos", "tso")

AT_NEXT_COMMIT = "next commit"
AT_RESTART = "restart of the job"


@dataclass(frozen=True)
class Option:
    """A policy key. `parse` raises ValueError; `form` says what it takes; `default` None means not set."""

    key: str
    type: str
    default: str | None
    unit: str
    doc: str
    form: str
    parse: Callable[[str], Any]
    takes_effect: str = AT_NEXT_COMMIT

    @property
    def name(self) -> str:
        """The key without prefix, as in pipeline files."""
        return self.key.removeprefix(PREFIX)

    def read(self, text: str | None) -> Any:
        """The value, or the default's; None where neither is set. Raises ConfigurationError."""
        text = self.default if text is None else text
        if text is None:
            return None
        try:
            return self.parse(text.strip())
        except (ValueError, OverflowError):
            raise ConfigurationError.of(self.key, text, self.form) from None


_DURATION = "an ISO-8601 duration of days and smaller, such as PT0S, PT15M or P1D"

OPTIONS: tuple[Option, ...] = (
    Option(
        PREFIX + "event-time-column",
        "text",
        None,
        "column",
        "Column (dotted path) of the event time. Setting it turns finalization on.",
        "a column's name, with dots into nested fields",
        text,
        AT_RESTART,
    ),
    Option(
        PREFIX + "event-time-format",
        "text",
        None,
        "",
        "How the column's value is read. By type: temporal columns need none; BIGINT needs "
        + ", ".join(f"`{name}`" for name in BIGINT_FORMATS)
        + "; STRING takes `iso-8601` (the default) or a java.time pattern. "
        "Or an extractor's name or class.",
        f"one of {', '.join(BIGINT_FORMATS)}, iso-8601, a java.time pattern, or an extractor",
        text,
        AT_RESTART,
    ),
    Option(
        PREFIX + "rule",
        "choice",
        "minimum",
        "",
        "How recent commits become a watermark: `minimum` takes the least statistic of the last commits; "
        "`lateness` takes the newest instant the source is known to be read to, minus how late commits "
        "usually are.",
        "minimum or lateness",
        choice("minimum", "lateness"),
    ),
    Option(
        PREFIX + "statistic",
        "text",
        "min",
        "",
        "Rule `minimum`: what stands for a commit's event times: `min`, `max` or a percentile, "
        "`p0.1` … `p99.9`.",
        "min, max or a percentile from p0.1 to p99.9",
        statistic,
    ),
    Option(
        PREFIX + "lookback-commits",
        "integer",
        "12",
        "commits",
        "X: how many of the last commits the rule looks at. With fewer, the watermark holds.",
        "a whole number from 1 to 10000",
        integer(1, 10_000),
    ),
    Option(
        PREFIX + "lateness-quantile",
        "number",
        "0.95",
        "share of commits",
        "Rule `lateness`: this share of the last X commits with data were no later than what is assumed.",
        "a number above 0, at most 1",
        share,
    ),
    Option(
        PREFIX + "granularity",
        "text",
        "hour",
        "",
        "Length of a finalization partition: `hour`, `day`, or an ISO-8601 duration that divides a day.",
        "hour, day, or an ISO-8601 duration that divides a day, such as PT15M",
        Granularity.parse,
        AT_RESTART,
    ),
    Option(
        PREFIX + "time-zone",
        "text",
        "UTC",
        "",
        "Whose calendar days are meant by granularity `day`; it matters for nothing else.",
        "a time zone such as UTC, Europe/Berlin or Asia/Kolkata",
        lambda t: parse_zone(t).key,
        AT_RESTART,
    ),
    Option(
        PREFIX + "allowed-lateness",
        "duration",
        "PT0S",
        "ISO-8601",
        "Rule `minimum`: subtracted before rounding down. Rule `lateness`: the least lateness assumed.",
        _DURATION,
        parse_duration,
    ),
    Option(
        PREFIX + "max-future",
        "duration",
        "PT1H",
        "ISO-8601",
        "An event time further ahead of the clock than this is not believed: counted as rejected, it moves "
        "nothing.",
        _DURATION,
        parse_duration,
        AT_RESTART,
    ),
    Option(
        PREFIX + "min-event-time",
        "instant",
        "1971-01-01T00:00:00Z",
        "ISO-8601, UTC",
        "An event time before this is not believed: counted as rejected, moves nothing.",
        "an instant such as 1971-01-01T00:00:00Z",
        instant,
        AT_RESTART,
    ),
    Option(
        PREFIX + "idle",
        "choice",
        "hold",
        "",
        "When all X commits are empty: `hold`, or trust the source's own Flink watermark "
        "(`source-watermark`), which heartbeats move while the source is alive.",
        "hold or source-watermark",
        choice("hold", "source-watermark"),
    ),
    Option(
        PREFIX + "alert-sinks",
        "list",
        "log",
        "",
        "Who is told of late records, once per commit: `log`, `webhook`, `kafka`, separated by commas, "
        "or `none`.",
        "log, webhook and kafka, separated by commas, or none",
        sinks,
    ),
    Option(
        PREFIX + "alert-webhook-url",
        "text",
        None,
        "URL",
        "Gets each alert as a JSON POST, repeated until it is taken. `${NAME}` stands for an environment "
        "variable of the committer's process.",
        "an http(s) URL without user and query, or ${NAME} of an environment variable that holds it",
        webhook_url,
    ),
    Option(
        PREFIX + "alert-webhook-authorization",
        "text",
        None,
        "",
        "Value of the Authorization header, such as `Bearer ${ALERT_TOKEN}`. By reference only.",
        "a ${NAME} reference to an environment variable, as a table property is no place for a secret",
        by_reference,
    ),
    Option(
        PREFIX + "alert-kafka-brokers",
        "text",
        None,
        "host:port,…",
        "Kafka brokers for alerts.",
        "host:port, separated by commas",
        text,
    ),
    Option(
        PREFIX + "alert-kafka-topic",
        "text",
        None,
        "",
        "Gets each alert as JSON, keyed by table.",
        "a topic's name",
        text,
    ),
    Option(
        PREFIX + "alert-kafka-properties",
        "map",
        None,
        "key=value,…",
        "More client settings, such as `security.protocol=SASL_SSL,sasl.password=${KAFKA_PASSWORD}`.",
        "key=value pairs separated by commas, with secrets as ${NAME} references",
        kafka_properties,
    ),
)

BY_KEY = {option.key: option for option in OPTIONS}
