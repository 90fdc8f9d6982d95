"""The network for round tanks: its shapes, and the fields that it begins with."""

import math

import torch

import eitlens as eit
from eitlens.feature.maps import MapPrior
from eitlens.models.tank import Tank, back_projections, tank_config

WAVES, GRID = 6, 8


def prior() -> MapPrior:
    """Of some ellipses."""
    batch = eit.EllipseSampler(seed=1, count=1, extent=0.6).batch(0, 40)
    return MapPrior.fit(eit.BoundaryIntegralSolver(eit.Disk(4)).modes(batch, WAVES), 20)


def test_the_fields_are_what_a_small_change_does():
    """A circle of area ε at x changes the map by -2 ε (σ-1)/(σ+1) ∇φ_v·∇φ_w to first order in ε."""
    known = prior()
    fields = back_projections(known, GRID)[1:, 0]
    i, j, radius, sigma = 5, 2, 1e-3, 3.0
    x, y = ((k + 0.5) * 2 / GRID - 1 for k in (i, j))
    change = eit.BoundaryIntegralSolver(eit.Disk(4), nodes=32).modes(
        eit.Phantom([eit.circle((x, y), radius)], [sigma]), WAVES
    )
    strength = -2 * (sigma - 1) / (sigma + 1) * math.pi * radius**2
    found = (known.modes * change).sum((1, 2)) / strength
    assert torch.allclose(found, fields[:, i, j], rtol=1e-4, atol=1e-6 * float(fields.abs().max()))


def test_five_numbers_a_pixel():
    known = prior()
    small = {"width": 64, "layers": 1, "heads": 2, "hidden": 32, "fine": 8, "grid": GRID}
    network = Tank(tank_config(known.size, **small))
    network.begin_with(known)
    code = torch.randn(2, 3 * known.size + 1)
    assert network.pixels(code).shape == (2, 5, 8 * GRID, 8 * GRID)
    assert network(code).shape == (2, 5, 8 * GRID + 1, 8 * GRID + 1)
    assert bool(network.extension.isfinite().all())
