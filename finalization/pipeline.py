"""Pipeline files: one YAML file describes one table's way from Kafka to its base table."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from finalization.catalog_config import CatalogConfig
from finalization.exceptions import ConfigurationError, PipelineError
from finalization.options import PREFIX
from finalization.pipeline_errors import describe
from finalization.policy import Policy, refuse_unfit_column, refuse_unknown_keys
from finalization.times import parse_interval

EVENT_TIME_COLUMN = "_event_time"
"""The column of the CDC table that holds the event time, whatever it was made of."""

_TABLE = re.compile(r"[^.\s]+(\.[^.\s]+)+")


def _scalar_text(value: Any) -> Any:
    """YAML reads 12 and true as numbers and booleans; properties are texts."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


def _table_name(name: str) -> str:
    if not _TABLE.fullmatch(name):
        raise ValueError("expected namespace.table, such as lake.flights")
    return name


def _interval(value: Any) -> Any:
    return parse_interval(value) if isinstance(value, str) else value


def _positive(value: int) -> int:
    if value <= 0:
        raise ValueError("expected more than nothing")
    return value


Text = Annotated[str, BeforeValidator(_scalar_text), Field(min_length=1)]
TableName = Annotated[str, AfterValidator(_table_name)]
Properties = dict[str, Annotated[str, BeforeValidator(_scalar_text)]]


class _Part(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        alias_generator=lambda name: name.replace("_", "-"),
        populate_by_name=False,
    )


class KafkaSource(_Part):
    """Topics by name, or one regular expression. Property values are never printed: they may be secrets.

    `heartbeat_topic` is Debezium's (`__debezium-heartbeat.<prefix>`): with it the job knows how far the
    source is read while no rows come, which `finalization.idle: source-watermark` needs.
    """

    brokers: Text
    topics: list[Text] = Field(default_factory=list)
    topic_pattern: Text | None = None
    heartbeat_topic: Text | None = None
    properties: Properties = Field(default_factory=dict, repr=False)

    @model_validator(mode="after")
    def _one_way_to_name_topics(self) -> "KafkaSource":
        if bool(self.topics) == bool(self.topic_pattern):
            raise ValueError("give either topics, a list of names, or topic-pattern, a regular expression")
        if self.topic_pattern:
            re.compile(self.topic_pattern)
        return self


class EventTime(_Part):
    """Either `column` (a path in the row, or `source.ts_ms`) or `expression` (Flink SQL over the row).

    `functions` names Python functions that the expression calls: `{my_time: package.module.my_time}`, each a
    Flink UDF (`pyflink.table.udf.udf`). They run in a process beside Flink: reading a column is cheaper.
    """

    column: Text | None = None
    format: Text | None = None
    expression: Text | None = None
    functions: dict[str, Text] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _exactly_one(self) -> "EventTime":
        if (self.column is None) == (self.expression is None):
            raise ValueError("give either column or expression")
        if self.expression is not None and self.format is not None:
            raise ValueError("format belongs to column; an expression gives the time itself")
        if self.functions and self.expression is None:
            raise ValueError("functions are for an expression; give one that calls them")
        return self


class Tables(_Part):
    """Full names. The dead-letter table is beside the CDC table unless it is named."""

    cdc: TableName
    base: TableName
    dead_letters: TableName

    @model_validator(mode="before")
    @classmethod
    def _default_dead_letters(cls, values: Any) -> Any:
        if isinstance(values, dict) and "cdc" in values:
            return {"dead-letters": f"{values['cdc']}_dead_letters", **values}
        return values

    @model_validator(mode="after")
    def _distinct(self) -> "Tables":
        if len({self.cdc, self.base, self.dead_letters}) < 3:
            raise ValueError("cdc, base and dead-letters must be three tables")
        return self


class Checkpoint(_Part):
    """`interval` such as `10s`; each checkpoint is a commit."""

    interval_ms: Annotated[int, BeforeValidator(_interval), AfterValidator(_positive)] = Field(
        default=10_000, alias="interval"
    )
    directory: Text


class Upsert(_Part):
    """What a delete does to the base table: removes the row (`hard`) or marks it (`soft`).

    `truncate` is what a TRUNCATE of the source does: the upsert stops (`refuse`), or all rows go as by a
    delete of each (`apply`). `table_properties` are those that a base table is created with.
    """

    deletes: Literal["hard", "soft"] = "hard"
    truncate: Literal["refuse", "apply"] = "refuse"
    table_properties: Properties = Field(default_factory=dict)


class Pipeline(_Part):
    """A whole pipeline file, checked. `finalization` holds policy keys without prefix."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
    kafka: KafkaSource
    format: Literal["debezium-json"] = "debezium-json"
    columns: dict[str, Text] = Field(min_length=1)
    primary_key: list[Text] = Field(min_length=1)
    event_time: EventTime
    tables: Tables
    catalog: CatalogConfig
    finalization: Properties = Field(default_factory=dict)
    checkpoint: Checkpoint
    parallelism: Annotated[int, Field(ge=1)] = 1
    upsert: Upsert = Field(default_factory=Upsert)

    @model_validator(mode="after")
    def _agree(self) -> "Pipeline":
        for key in self.primary_key:
            if key not in self.columns:
                raise ValueError(
                    f"primary-key has '{key}', which is not in columns ({', '.join(self.columns)})"
                )
        for column in self.columns:
            if column.startswith("_"):
                raise ValueError(f"columns has '{column}'; names that begin with _ are the CDC table's own")
        if self.upsert.truncate == "apply" and len(self.kafka.topics) != 1:
            raise ValueError(
                "upsert.truncate is 'apply'; expected refuse where several topics feed one base table: its "
                "rows do not say which of the source's tables they are from"
            )
        self._check_event_time()
        if "event-time-column" in self.finalization or "event-time-format" in self.finalization:
            raise ValueError("finalization has event-time-column or -format; say it under event-time instead")
        refuse_unknown_keys(self.policy_properties())
        Policy.from_properties(self.policy_properties())
        return self

    def _check_event_time(self) -> None:
        column, event_time_format = self.event_time.column, self.event_time.format
        if column is None:
            return
        if column.startswith("source."):
            if column == "source.ts_ms" and event_time_format not in (None, "epoch-millis"):
                raise ValueError(
                    f"event-time.format is '{event_time_format}'; source.ts_ms is always epoch-millis"
                )
            return
        root, _, nested = column.partition(".")
        if root not in self.columns:
            raise ValueError(
                f"event-time.column is '{column}', which is not in columns ({', '.join(self.columns)}) "
                "and does not begin with source."
            )
        if nested:  # the types of nested fields are checked by the job, which parses them
            return
        try:
            refuse_unfit_column(column, self.columns[root], event_time_format)
        except ConfigurationError as e:
            # The file has its own names for these two keys.
            raise ValueError(str(e).replace(f"{PREFIX}event-time-", "event-time.")) from None

    def policy_properties(self) -> dict[str, str]:
        """The CDC table's `finalization.*` properties, with the event-time column."""
        policy = {PREFIX + key: text for key, text in self.finalization.items()}
        return {PREFIX + "event-time-column": EVENT_TIME_COLUMN, **policy}


def load(path: str | Path) -> Pipeline:
    """Reads and checks a pipeline file. `${NAME}` in kafka and catalog stands for an environment variable.

    Raises PipelineError, which lists every problem by key, value, form and fix.
    """
    try:
        text = Path(path).read_text()
    except OSError as e:
        raise PipelineError(f"{path} cannot be read: {e.strerror}") from e
    return loads(text, str(path))


def loads(text: str, name: str = "pipeline", environment: Mapping[str, str] | None = None) -> Pipeline:
    """As `load`, from text. `environment` defaults to the process's."""
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as e:
        # Not the error itself: it quotes lines of the file, which may hold secrets.
        where = (
            f" at line {e.problem_mark.line + 1}"
            if isinstance(e, yaml.MarkedYAMLError) and e.problem_mark
            else ""
        )
        problem = e.problem if isinstance(e, yaml.MarkedYAMLError) else "unreadable characters"
        raise PipelineError(f"{name} is not YAML{where}: {problem}") from None
    if not isinstance(content, dict):
        raise PipelineError(f"{name} holds no keys; expected name, kafka, columns, … (see the README)")
    known = os.environ if environment is None else environment
    for part in (
        "kafka",
        "catalog",
    ):  # alert settings under finalization stay references: they go into the table
        if part in content:
            content[part] = _resolve(content[part], part, known)
    try:
        return Pipeline.model_validate(content)
    except ValidationError as e:
        raise PipelineError(f"{name}:\n" + "\n".join(f"  {line}" for line in describe(e, Pipeline))) from None


def _resolve(value: Any, key: str, environment: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {name: _resolve(inner, f"{key}.{name}", environment) for name, inner in value.items()}
    if isinstance(value, list):
        return [_resolve(inner, key, environment) for inner in value]
    if not isinstance(value, str):
        return value

    def replacement(match: re.Match[str]) -> str:
        if match[1] not in environment:
            raise PipelineError(
                f"{key} has {match[0]}, but the environment variable {match[1]} is not set. Set it."
            )
        return environment[match[1]]

    return re.sub(r"\$\{(\w+)\}", replacement, value)
