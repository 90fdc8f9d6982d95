"""Shapes and types of the physics are checked at run time in the tests, and only there."""

import importlib.util

import torch
from jaxtyping import install_import_hook

PHYSICS = [
    "checks",
    "classical",
    "domain",
    "electrodes",
    "evaluate",
    "feature.dense",
    "feature.gaussian",
    "feature.harmonic",
    "forward",
    "memory",
    "phantom",
    "posterior.model",
    "posterior.moves",
    "posterior.sampler",
    "random",
]

# As for mypy, an int will do for a float.
CHECKER = "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))"

if importlib.util.find_spec("beartype"):
    install_import_hook([f"eitlens.{name}" for name in PHYSICS], CHECKER)

torch.set_num_threads(1)

pytest_plugins = ["fixtures.bodies", "fixtures.data", "fixtures.runs"]
