"""From the options of `eitlens train` to the configuration of a run."""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eitlens.errors import InputError

if TYPE_CHECKING:
    from eitlens.train import TrainConfig


def build_recipe(
    preset: str, config: Path | None, changes: dict[str, Any], settings: list[str]
) -> "TrainConfig":
    """A preset or a file, with the settings that options change by their full names."""
    from eitlens.train import TrainConfig
    from eitlens.train import preset as named

    values = (named(preset) if config is None else TrainConfig.read(config)).to_dict()
    for key, value in [*changes.items(), *map(_setting, settings)]:
        *parents, last = key.split(".")
        place = values
        for parent in parents:
            inner = place.get(parent)
            place[parent] = place = inner if isinstance(inner, dict) else {}
        place[last] = value
    return TrainConfig.from_dict(values)


def changed_settings(
    data: Path | None,
    stream: str | None,
    network: str | None,
    currents: int | None,
    tau: list[float] | None,
    batch: int | None,
    length: tuple[float | None, int | None, float | None],
) -> dict[str, Any]:
    """The options that were given, as settings by their full names."""
    from eitlens.dataset import preset

    named = {"network.preset": network, "data.currents": currents, "batch": batch}
    changes: dict[str, Any] = {key: value for key, value in named.items() if value is not None}
    if data is not None:
        changes |= {"data.folder": str(data), "data.stream": None}
    if stream is not None:
        changes |= {"data.folder": "", "data.stream": preset(stream).to_dict()}
    if tau:
        changes |= {"noise.levels": tau, "noise.draw": "set"}
    names = ("epochs", "samples", "minutes")
    if any(value is not None for value in length):
        changes |= {name: value or 0 for name, value in zip(names, length, strict=True)}
    return changes


def budget(option: str, minutes: float | None) -> float:
    """The minutes that an option gives; no limit where it is left out."""
    if minutes is None:
        return math.inf
    if not 0 <= minutes < math.inf:
        raise InputError(f"{option} {minutes:g}: give minutes >= 0, or leave it out for no limit")
    return minutes


def _setting(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"--set {text[:60]}: expected key=value, as schedule.lr=5e-4")
    try:
        return key, json.loads(value)
    except (RecursionError, ValueError):
        return key, value
