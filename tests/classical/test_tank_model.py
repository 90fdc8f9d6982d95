"""The model of a tank: its derivatives against differences of readings, and its readings against the exact ones."""

import pytest
import torch

import eitlens as eit
from eitlens.classical.tank_model import TankModel


@pytest.fixture(scope="module")
def model() -> TankModel:
    body = eit.bodies.ellipse(0.12, 0.09)
    electrodes = eit.Electrodes.even(body, 8, impedance=2e-4)
    return TankModel(electrodes, eit.Pattern.named("adjacent", 8, current=1e-3), height=0.05, cells=12)


def _varied(model: TankModel) -> torch.Tensor:
    x, y = model.lattice.nodes.unbind(-1)
    return 0.3 * torch.exp(0.5 * torch.sin(3 * x) * y)


def test_the_derivative_in_sigma_is_that_of_the_readings(model: TankModel) -> None:
    sigma = _varied(model)
    towards = sigma * torch.cos(5 * model.lattice.nodes[:, 0])
    step = 1e-4
    change = (model.readings(sigma + step * towards) - model.readings(sigma - step * towards)) / (2 * step)
    found = model.jacobian(sigma) @ towards
    assert float((found - change).norm() / change.norm()) < 1e-6


def test_the_derivative_in_the_contacts_is_that_of_the_readings(model: TankModel) -> None:
    sigma, contact = _varied(model), model.electrodes.impedance
    towards = contact * torch.linspace(-1, 2, len(contact), dtype=torch.float64)
    step = 1e-4
    up, down = (model.readings(sigma, contact + sign * step * towards) for sign in (1, -1))
    found = model.contact_jacobian(sigma) @ towards
    assert float((found - (up - down) / (2 * step)).norm() / found.norm()) < 1e-5


def test_scaling_the_conductivity_scales_readings_as_euler_says(model: TankModel) -> None:
    """V(tσ, z / t) = V(σ, z) / t, so that J σ - J_z z = -V."""
    sigma = _varied(model)
    found = model.jacobian(sigma) @ sigma - model.contact_jacobian(sigma) @ model.electrodes.impedance
    volts = model.readings(sigma)
    assert float((found + volts).norm() / volts.norm()) < 1e-10


def test_the_empty_tank_reads_as_the_exact_solver_says() -> None:
    electrodes = eit.Electrodes.even(eit.Disk(32, scale=0.1), 16, impedance=1e-4)
    pattern = eit.Pattern.named("skip-3", 16, current=1e-3)
    exact = eit.simulate_readings(electrodes, pattern, eit.Phantom([], outside=0.3), height=0.05)
    found = TankModel(electrodes, pattern, height=0.05)
    assert float((found.readings(found.uniform(0.3)) - exact).norm() / exact.norm()) < 1e-3


def test_an_image_of_a_linear_function_is_that_function(model: TankModel) -> None:
    x, y = model.lattice.nodes.unbind(-1)
    grid = model.domain.at(50)
    image, inside = model.image(1 + 2 * x - y, grid), grid.clearance(grid.nodes()) > 0.2
    nodes = grid.nodes()[inside]
    assert torch.allclose(image[inside], 1 + 2 * nodes[:, 0] - nodes[:, 1])
    assert bool((image[~grid.inside()] == 0).all())


def test_masked_readings_are_left_out() -> None:
    electrodes = eit.Electrodes.even(eit.Disk(32), 8)
    pattern = eit.Pattern.named("opposite", 8)
    keep = torch.arange(pattern.count) % 3 > 0
    whole, part = TankModel(electrodes, pattern, cells=8), TankModel(electrodes, pattern, keep=keep, cells=8)
    water = whole.uniform(1.0)
    assert torch.equal(part.readings(water), whole.readings(water)[keep])
    assert torch.equal(part.jacobian(water), whole.jacobian(water)[keep])
