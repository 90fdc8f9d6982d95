"""Test samples that are simulated when they are needed."""

from dataclasses import replace

import torch

from eitlens.dataset import DataConfig, Samples
from eitlens.dataset.samples import concatenate
from eitlens.dataset.simulate import Simulator
from eitlens.errors import InputError

_AT_ONCE = 256


def simulate(recipe: DataConfig, start: int, stop: int, device: torch.device) -> Samples:
    """Samples start … stop - 1 of a recipe, as `eitlens generate` makes them; without their phantoms."""
    if stop <= start:
        raise InputError(f"{recipe.name}: this split is empty: give it samples")
    simulator = Simulator.build(recipe, device)
    parts = [simulator(index) for index in torch.split(torch.arange(start, stop), _AT_ONCE)]
    return replace(concatenate(parts), phantoms=None)
