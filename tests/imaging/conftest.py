"""Small bodies, and networks of small size that have learned nothing: what is around them is tested."""

import json

import pytest
import torch

from eitlens.domain import Square
from eitlens.feature import Features
from eitlens.forward import BoundaryIntegralSolver, currents
from eitlens.forward.currents import CurrentsConfig
from eitlens.models import create, save
from eitlens.phantom import Ellipse, Phantom

CELLS = 64


@pytest.fixture(scope="session")
def square():
    return Square(CELLS)


@pytest.fixture(scope="session")
def phantom():
    return Phantom([Ellipse((0.3, -0.2), (0.2, 0.35), 0.5), Ellipse((-0.4, 0.4), (0.25, 0.15), 0.2)])


@pytest.fixture(scope="session")
def difference(square, phantom):
    """Three cosine currents, (3, 4n)."""
    return BoundaryIntegralSolver(square).difference(phantom, currents.cosine(square, 3))


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A run's folder: a network of two currents on 64 cells."""
    path = tmp_path_factory.mktemp("runs") / "blank"
    torch.manual_seed(0)
    save(create("uit-small", currents=2, resolution=32), path / "best")
    features = Features(CELLS, CurrentsConfig("cosine", 2))
    (path / "features.json").write_text(json.dumps(features.to_dict()))
    return path
