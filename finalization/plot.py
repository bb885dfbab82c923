"""Draws what policies cost: completeness against latency."""

from collections.abc import Sequence
from pathlib import Path

from finalization.backtest import Replay
from finalization.exceptions import ConfigurationError, FinalizationError

_HOUR_MS = 3_600_000


def draw(replays: Sequence[Replay], choice: Replay | None, title: str, file: Path) -> None:
    """Each policy is a point: its p95 wait, and the share of records that came in time. Writes .png or .svg.

    Raises ConfigurationError for another ending, FinalizationError without matplotlib.
    """
    if file.suffix not in (".png", ".svg"):
        raise ConfigurationError(f"--plot is '{file}'; expected a file that ends in .png or .svg")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise FinalizationError("--plot needs matplotlib: install the extra `plot`") from None
    shown = [replay for replay in replays if replay.wait_p95_ms is not None]
    figure = Figure(figsize=(9, 6), layout="constrained")
    axes = figure.add_subplot()
    for rule, colour in (("minimum", "tab:blue"), ("lateness", "tab:orange")):
        points = [replay for replay in shown if replay.policy.rule == rule]
        axes.scatter(_waits(points), _completeness(points), color=colour, label=f"rule {rule}")
    frontier = sorted(
        (replay for replay in shown if not any(other.beats(replay) for other in shown)),
        key=lambda replay: replay.wait_p95_ms or 0,
    )
    axes.plot(
        _waits(frontier), _completeness(frontier), color="0.7", zorder=0, label="not beaten on any axis"
    )
    for replay in shown:
        point = ((replay.wait_p95_ms or 0) / _HOUR_MS, 100 * (1 - replay.late_share))
        name = replay.name + (" (best)" if replay is choice else "")
        axes.annotate(name, point, xytext=(4, 4), textcoords="offset points", fontsize=6)
    axes.set_xlabel("p95 wait from a partition's end to its finalization, hours")
    axes.set_ylabel("records that came in time, %")
    axes.set_title(title)
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right", fontsize=8)
    figure.savefig(file, dpi=150)


def _waits(replays: Sequence[Replay]) -> list[float]:
    return [(replay.wait_p95_ms or 0) / _HOUR_MS for replay in replays]


def _completeness(replays: Sequence[Replay]) -> list[float]:
    return [100 * (1 - replay.late_share) for replay in replays]
