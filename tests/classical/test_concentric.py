"""The concentric inclusion: its closed forms against the solver, and against each other."""

import numpy as np
import pytest
import torch

from eitlens.classical import picard_sum
from eitlens.classical.concentric import Inclusion, eigenvalue, picard, picard_limit, recover
from eitlens.domain import Disk
from eitlens.errors import InputError
from eitlens.forward import BoundaryIntegralSolver, NeumannToDirichlet, currents
from eitlens.phantom import Phantom, circle

DISK = Disk(40, 128)
RADII = np.linspace(0, 0.9, 10)


@pytest.mark.parametrize("given", [Inclusion(0.5, 10.0), Inclusion(0.3, 0.1), Inclusion(0.7, 2.0)])
def test_two_measured_eigenvalues_give_the_inclusion(given: Inclusion) -> None:
    phantom = Phantom([circle((0, 0), given.radius)], given.inside)
    solver = BoundaryIntegralSolver(DISK, tolerance=1e-13)
    waves = currents.cosine(DISK, 2)
    data = NeumannToDirichlet(solver, phantom).apply(waves)
    measured = [float(f @ g / (g @ g)) for f, g in zip(data, waves, strict=True)]
    assert measured == pytest.approx([eigenvalue(order, given) for order in (1, 2)], rel=1e-12)
    assert recover(*measured) == pytest.approx(given, rel=1e-9)


def test_eigenvalues_of_no_inclusion_are_refused() -> None:
    for first, second in ((1.0, 0.5), (0.9, 0.6), (0.9, 0.4)):
        with pytest.raises(InputError):
            recover(first, second)


@pytest.mark.parametrize("inside", [10.0, 0.1])
def test_the_picard_sum_is_that_of_the_eigenpairs(inside: float) -> None:
    given = Inclusion(0.6, inside)
    phantom = Phantom([circle((0, 0), given.radius)], given.inside)
    solver = BoundaryIntegralSolver(DISK, tolerance=1e-14)
    theta = picard_sum(DISK, NeumannToDirichlet(solver, phantom).eigenpairs(), 10)
    body = DISK.inside()
    radius = torch.linalg.vector_norm(DISK.nodes(), dim=-1)[body].numpy()
    np.testing.assert_allclose(theta[body].numpy(), picard(radius, given, 5), rtol=1e-9)


def test_the_limit_of_the_picard_sum() -> None:
    given = Inclusion(0.6, 10.0)
    inside = RADII[RADII < 0.55]
    np.testing.assert_allclose(picard(inside, given, 400), picard_limit(inside, given), rtol=1e-12)
    assert bool((picard(RADII[RADII > 0.65], given, 400) > 1e20).all())


def test_the_picard_sum_has_no_largest_value_in_the_inclusion() -> None:
    """Near the interface it is 1 / (4π |μ| d²), d the distance."""
    given = Inclusion(0.6, 10.0)
    distance = np.array([1e-3, 1e-4, 1e-5])
    law = 1 / (4 * np.pi * abs(given.contrast) * distance**2)
    np.testing.assert_allclose(picard_limit(0.6 - distance, given), law, rtol=3e-3)
