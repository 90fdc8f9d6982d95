"""The random conductivities of the three published tasks: reproducible, and distributed as described."""

import math

import pytest
import torch

from eitlens.errors import InputError
from eitlens.phantom.disk_images import (
    TASKS,
    LognormalTask,
    ShapeTask,
    ThreePhaseTask,
    gaussian_fields,
    matern_amplitudes,
    radii,
    task_of,
)

SEED = 7


@pytest.mark.parametrize("name", TASKS)
def test_a_sample_is_a_function_of_seed_and_index(name):
    task = task_of(name, SEED)
    some = task.images(torch.tensor([3, 11, 4]), 32)
    assert torch.allclose(some[2], task.images(torch.tensor([4]), 32)[0])
    assert not torch.allclose(some[0], some[1])
    assert not torch.allclose(some[0], task_of(name, SEED + 1).images(torch.tensor([3]), 32)[0])


@pytest.mark.parametrize("name", TASKS)
def test_another_grid_shows_the_same_sample(name):
    """Nodes of 17² are every second of 33²."""
    fine, coarse = (task_of(name, SEED).images(torch.arange(2), nodes) for nodes in (33, 17))
    assert torch.allclose(fine[:, ::2, ::2], coarse)


def test_an_unknown_task_is_refused():
    with pytest.raises(InputError, match="three-phase"):
        task_of("shapes", 0)


@pytest.mark.parametrize("name", TASKS)
def test_one_beyond_the_reach(name):
    image = task_of(name, SEED).images(torch.arange(20), 64)
    assert torch.equal(image[:, radii(64, image.device) > TASKS[name].reach - 0.02].unique(), torch.ones(1))


def test_the_spectrum_is_the_closed_form():
    """Cosine coefficients of fields have the deviations 2 τ^(α-1) (π² |k|² + τ²)^(-α/2)."""
    count, nodes = 200, 65
    tau, alpha = torch.full((count,), 8.0).double(), torch.full((count,), 3.5).double()
    fields = gaussian_fields(SEED, torch.arange(count), tau, alpha, nodes, 1)
    place = torch.linspace(0, math.pi, nodes, dtype=torch.float64)
    weight = torch.full((nodes,), 1 / (nodes - 1)).double()  # trapezoids: exact for cosines of the grid
    weight[[0, -1]] /= 2
    cosines = torch.cos(place[:, None] * torch.arange(6)) * weight[:, None]
    found = cosines.T @ fields @ cosines * 4
    found[:, 0], found[:, :, 0] = found[:, 0] / 2, found[:, :, 0] / 2
    k = torch.arange(6, dtype=torch.float64)
    expected = 2 * 8.0**2.5 * (math.pi**2 * (k[:, None] ** 2 + k**2) + 64) ** -1.75
    expected[0, 0] = 0
    error = found.square().mean(0).sqrt() - expected
    assert float((error.abs() / expected.clamp(min=1e-3)).max()) < 5 / math.sqrt(2 * count)
    assert torch.allclose(matern_amplitudes(tau[:1], alpha[:1])[0, :6, :6], expected)


def test_half_of_the_inner_disk_of_a_shape_conducts():
    image = ShapeTask(SEED).images(torch.arange(120), 64)
    assert image.unique().tolist() == [1.0, 100.0]
    inside = radii(64, image.device) <= ShapeTask.radius
    assert float((image[:, inside] > 1).double().mean()) == pytest.approx(0.5, abs=0.03)


def test_the_phases_have_their_shares_and_values():
    task, index = ThreePhaseTask(SEED), torch.arange(120)
    image, drawn = task.images(index, 64), task.parameters(index)
    inside = (radii(64, image.device) <= 0.65).expand_as(image)
    for share, chosen in ((0.5, image == 1), (0.25, image > 1), (0.25, image < 1)):
        assert float(chosen[inside].double().mean()) == pytest.approx(share, abs=0.05)
    assert torch.equal(image.flatten(1).amax(1), drawn["conductor"])
    assert torch.equal(image.flatten(1).amin(1), drawn["resistor"])
    for name, (low, high) in task.ranges.items():
        assert low <= float(drawn[name].min()) < float(drawn[name].max()) <= high
        assert float(drawn[name].mean()) == pytest.approx((low + high) / 2, abs=0.15 * (high - low))


def test_the_logarithm_is_the_field_where_nothing_is_cut():
    """Its variance at a point is Σ_k of the squares of amplitudes and cosines, averaged over τ and α."""
    task, index = LognormalTask(SEED), torch.arange(150)
    image, drawn = task.images(index, 65), task.parameters(index)
    assert torch.allclose(image[:, 32, 20].log(), task.fields(index, 65, 1)[:, 32, 20])
    cosines = torch.cos(torch.arange(128) * math.pi / 2).square()
    expected = (matern_amplitudes(drawn["tau"], drawn["alpha"]).square() * cosines[:, None] * cosines).sum(
        (1, 2)
    )
    assert float(image[:, 32, 32].log().var()) == pytest.approx(float(expected.mean()), rel=0.4)
    assert float(image[:, 32, 32].log().mean()) == pytest.approx(0.0, abs=0.07)
