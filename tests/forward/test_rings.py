"""Maps of images by elimination of rings, against closed forms, an ODE, and another solver."""

import math

import pytest
import torch
from scipy.integrate import solve_ivp

import eitlens as eit
from eitlens.classical.concentric import Inclusion, eigenvalue
from eitlens.errors import InputError
from eitlens.forward.rings import Rings

WAVES, NODES = 8, 1024


def radius() -> torch.Tensor:
    x = torch.linspace(-1, 1, NODES, dtype=torch.float64)
    return torch.hypot(x[:, None], x)


def test_a_uniform_disk_has_no_difference():
    image = torch.ones(2, 32, 32, dtype=torch.float64)
    assert float(Rings(8, 32, 0.7, True).differences(image, WAVES).abs().max()) < 1e-14


@pytest.mark.parametrize("inside", [100.0, 0.1])
def test_a_concentric_disk(inside):
    """Its eigenvalues are known; on 32 and 64 rings they are right to 1 and 0.5 %."""
    image = torch.where(radius() < 0.5, inside, 1.0).double()[None]
    exact = torch.tensor([eigenvalue(k, Inclusion(0.5, inside)) - 1 / k for k in (1, 2)], dtype=torch.float64)
    for rings, bound in ((32, 0.01), (64, 0.006)):
        found = Rings(rings, 4 * rings, 0.72, True).differences(image, WAVES)[0]
        assert float((found.diagonal()[:2] / exact - 1).abs().max()) < bound
        assert float((found - torch.diag(found.diagonal())).abs().max()) < 1e-5


def smooth(r: float) -> float:
    """A smooth radial σ, 1 at r = 1 to 10⁻⁶."""
    return 1 + 2 * math.exp(-15 * r * r)


def by_an_ode(order: int) -> float:
    """λ - 1/k for r (r σ u')' = k² σ u: the ratio q = r σ u'/u has q' = (k² σ - q²/σ) / r, and λ = 1/q(1)."""
    first = 1e-6
    found = solve_ivp(
        lambda r, q: (order**2 * smooth(r) - q**2 / smooth(r)) / r,
        (first, 1.0),
        [order * smooth(first)],
        rtol=1e-10,
        atol=1e-12,
    )
    return 1 / found.y[0, -1] - 1 / order


def test_second_order_for_a_smooth_conductivity():
    image = (1 + 2 * torch.exp(-15 * radius() ** 2))[None]
    exact = torch.tensor([by_an_ode(k) for k in range(1, 4)], dtype=torch.float64)
    errors = []
    for rings in (16, 32, 64):
        found = Rings(rings, 4 * rings, 1.0, False).differences(image, WAVES)[0].diagonal()[:3]
        errors.append(float((found / exact - 1).abs().max()))
    assert errors[1] < errors[0] / 3
    assert errors[2] < errors[1] / 3
    assert errors[2] < 0.004


def test_the_continuation_does_not_depend_on_the_reach():
    image = torch.where(radius() < 0.4, 5.0, 1.0).double()[None]
    near, far = (Rings(64, 128, reach, False).differences(image, WAVES) for reach in (0.5, 1.0))
    assert float((near - far).norm() / near.norm()) < 0.01


def test_an_ellipse_apart_as_boundary_integrals_have_it():
    phantom = eit.Phantom([eit.Ellipse((0.2, -0.15), (0.3, 0.2), 0.6)], [10.0])
    expected = eit.BoundaryIntegralSolver(eit.Disk(4)).modes(phantom, WAVES)
    x = torch.linspace(-1, 1, NODES, dtype=torch.float64)
    x, y = torch.meshgrid(x, x, indexing="ij")
    u, v = x - 0.2, y + 0.15
    cos, sin = math.cos(0.6), math.sin(0.6)
    inside = ((cos * u + sin * v) / 0.3) ** 2 + ((cos * v - sin * u) / 0.2) ** 2 < 1
    found = Rings(48, 256, 0.72, True).differences(torch.where(inside, 10.0, 1.0).double()[None], WAVES)[0]
    assert float((found - expected).norm() / expected.norm()) < 0.01


def test_what_cannot_be_solved_is_refused():
    image = torch.ones(1, 16, 16, dtype=torch.float64)
    with pytest.raises(InputError, match="power of two"):
        Rings(8, 48, 0.7, True)
    with pytest.raises(InputError, match="reach"):
        Rings(8, 32, 1.2, True)
    with pytest.raises(InputError, match="waves"):
        Rings(8, 32, 0.7, True).differences(image, 16)
