"""The policies that a backtest tries."""

import re
from collections.abc import Mapping, Sequence

from finalization.exceptions import ConfigurationError
from finalization.options import PREFIX, WATERMARK
from finalization.policy import Policy, refuse_unknown_keys

COMMON = (
    "rule=minimum lookback-commits=6",
    "rule=minimum lookback-commits=12",
    "rule=minimum lookback-commits=24",
    "rule=minimum lookback-commits=48",
    "rule=minimum lookback-commits=12 statistic=p1",
    "rule=minimum lookback-commits=12 statistic=p5",
    "rule=minimum lookback-commits=12 allowed-lateness=PT1H",
    "rule=lateness lookback-commits=48 lateness-quantile=0.9",
    "rule=lateness lookback-commits=48 lateness-quantile=0.95",
    "rule=lateness lookback-commits=96 lateness-quantile=0.95",
    "rule=lateness lookback-commits=96 lateness-quantile=0.99",
    "rule=lateness lookback-commits=288 lateness-quantile=0.95",
    "rule=lateness lookback-commits=288 lateness-quantile=0.99",
)
"""Tried when none is named."""


def candidates(properties: Mapping[str, str], texts: Sequence[str]) -> list[tuple[str, Policy]]:
    """The table's own policy first, then each text's as changes to it. Raises ConfigurationError."""
    own = {key: text for key, text in properties.items() if key.startswith(PREFIX)}
    own = {key: text for key, text in own.items() if not key.startswith(WATERMARK)}
    tried = [("the table's own", Policy.from_properties(own))]
    for text in texts or COMMON:
        changes = _changes(text)
        refuse_unknown_keys(changes)
        tried.append((" ".join(text.replace(",", " ").split()), Policy.from_properties({**own, **changes})))
    return tried


def _changes(text: str) -> dict[str, str]:
    changes = {}
    for pair in re.split(r"[\s,]+", text.strip()):
        key, equals, value = pair.partition("=")
        if not equals:
            raise ConfigurationError(f"--policy has '{pair}'; expected KEY=VALUE pairs such as statistic=p5")
        changes[key if key.startswith(PREFIX) else PREFIX + key] = value
    return changes
