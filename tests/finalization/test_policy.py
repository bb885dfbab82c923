import pytest

from finalization.exceptions import ConfigurationError
from finalization.options import OPTIONS
from finalization.policy import Policy, refuse_unfit_column, refuse_unknown_keys
from finalization.times import Granularity


def read(**values: str) -> Policy:
    return Policy.from_properties(
        {f"finalization.{key.replace('_', '-')}": text for key, text in values.items()}
    )


def test_defaults_of_the_class_are_those_of_the_declaration():
    assert Policy.from_properties({}) == Policy()


def test_every_option_is_an_attribute_of_the_policy():
    attributes = {name.replace("_", "-") for name in Policy.__dataclass_fields__}
    assert attributes == {option.name for option in OPTIONS}


@pytest.mark.parametrize("option", [o for o in OPTIONS if o.type != "text"], ids=lambda o: o.name)
def test_every_typed_option_refuses_nonsense_with_its_form(option):
    with pytest.raises(ConfigurationError) as caught:
        option.read("\x00 no such value")
    assert option.key in str(caught.value)
    assert option.form in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("statistic", "p101"),
        ("statistic", "p0"),
        ("statistic", "median"),
        ("granularity", "PT7H"),
        ("time-zone", "Mars/Base"),
        ("lookback-commits", "0"),
        ("lookback-commits", "ten"),
        ("lateness-quantile", "95"),
        ("allowed-lateness", "5 minutes"),
        ("min-event-time", "1971"),
        ("min-event-time", "1971-01-01T00:00Z"),
        ("idle", "guess"),
        ("rule", "maximum"),
        ("alert-sinks", "pager"),
        ("alert-webhook-authorization", "Bearer abc"),
        ("alert-kafka-properties", "sasl.password=abc"),
        ("alert-webhook-url", "https://me:secret@host/"),
        ("alert-webhook-url", "ftp://host/"),
    ],
)
def test_a_wrong_value_is_refused_by_key_value_and_form(key, value):
    with pytest.raises(ConfigurationError, match=f"finalization.{key} is '{value}'; expected "):
        Policy.from_properties({f"finalization.{key}": value})


def test_values_are_typed():
    policy = read(
        statistic="p99.9",
        granularity="day",
        time_zone="Asia/Kolkata",
        allowed_lateness="PT5M",
        alert_sinks="none",
    )
    assert policy.percentile == 99.9
    assert policy.granularity == Granularity.parse("day", "Asia/Kolkata")
    assert (policy.allowed_lateness, policy.alert_sinks) == (300_000, ())


def test_a_sink_without_its_address_is_a_contradiction():
    with pytest.raises(
        ConfigurationError, match=r"alert-webhook-url is not set.*Fix: set it, or take webhook out"
    ):
        read(alert_sinks="log,webhook")
    with pytest.raises(ConfigurationError, match="alert-kafka-topic"):
        read(alert_sinks="kafka", alert_kafka_brokers="localhost:9092")


def test_a_format_without_a_column_is_a_contradiction():
    with pytest.raises(ConfigurationError, match="event-time-column is not set"):
        read(event_time_format="iso-8601")


def test_an_unknown_key_is_refused_with_the_nearest_one():
    with pytest.raises(ConfigurationError, match=r"did you mean finalization\.lookback-commits"):
        refuse_unknown_keys({"finalization.lookback-commit": "3"})
    refuse_unknown_keys({"finalization.watermark": "x", "finalization.watermark@audit": "x", "other": "x"})


@pytest.mark.parametrize("type_name", ["BIGINT", "long", "BIGINT NOT NULL"])
def test_numbers_need_a_format(type_name):
    with pytest.raises(ConfigurationError, match=r"epoch-millis.*Fix: say in which unit"):
        refuse_unfit_column("t", type_name, None)
    refuse_unfit_column("t", type_name, "epoch-micros")
    refuse_unfit_column("t", type_name, "com.example.MyExtractor")


@pytest.mark.parametrize(
    ("type_name", "event_time_format"),
    [
        ("TIMESTAMP_LTZ(3)", "epoch-millis"),
        ("timestamptz", "iso-8601"),
        ("STRING", "epoch-millis"),
        ("BOOLEAN", None),
    ],
)
def test_unfit_formats_and_types_are_refused(type_name, event_time_format):
    with pytest.raises(ConfigurationError):
        refuse_unfit_column("t", type_name, event_time_format)


@pytest.mark.parametrize(
    ("type_name", "event_time_format"),
    [
        ("TIMESTAMP(6)", None),
        ("timestamptz", None),
        ("DATE", None),
        ("string", None),
        ("STRING", "yyyy-MM-dd HH:mm"),
    ],
)
def test_fitting_formats_pass(type_name, event_time_format):
    refuse_unfit_column("t", type_name, event_time_format)
