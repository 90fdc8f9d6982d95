"""Inputs in the place of φ and ∇φ: each has an identity, and goes the whole way with its weights."""

import pytest
import torch

import eitlens as eit
from eitlens.domain.disk import Disk
from eitlens.errors import InputError
from eitlens.feature import Codes, Features, harmonic_extension, read_input
from eitlens.feature.base import InputRecipe
from eitlens.feature.storage import INPUTS
from eitlens.feature.substitutes import SUBSTITUTES, CodeFields, Potential, RaySpread
from eitlens.forward.currents import CurrentsConfig

SQUARE, CURRENTS = eit.Square(32), CurrentsConfig("cosine", 2)
BODIES = [eit.Phantom([eit.circle((0.1 * k - 0.3, 0.2), 0.2 + 0.02 * k)]) for k in range(6)]


@pytest.fixture(scope="module")
def data():
    solver = eit.GridSolver(SQUARE)
    return solver.difference(BODIES, eit.currents.cosine(SQUARE, 2))


def fitted(name, data):
    recipe = InputRecipe(n=SQUARE.n, currents=CURRENTS, modes=8)
    return INPUTS[name].fitted(recipe, lambda count: data[:count])


def test_spread_data_are_the_data_on_the_boundary_and_constant_along_rays(data):
    image = RaySpread(SQUARE.n, CURRENTS)(data)
    nodes = ((SQUARE.boundary() + 1) * SQUARE.n / 2).round().long()
    torch.testing.assert_close(image[:, :2, nodes[:, 0], nodes[:, 1]], data.float())
    middle, edge = SQUARE.n // 2, SQUARE.n
    step = torch.arange(1, middle + 1)
    for direction in ((1, 0), (1, 1), (-1, 1), (0, -1)):
        ray = image[0, 0, middle + direction[0] * step, middle + direction[1] * step]
        torch.testing.assert_close(ray, ray[-1].expand_as(ray))
    assert bool((image[:, 2:] == 0).all())
    assert image.shape == (6, 6, edge + 1, edge + 1)


def test_spread_data_on_a_disk_are_a_function_of_the_angle():
    disk = Disk(32)
    image = RaySpread(32, CurrentsConfig("cosine", 1), "disk")(disk.angle().cos()[None])
    x, y = disk.nodes().unbind(-1)
    expected = torch.atan2(y, x).cos()
    inside = disk.inside() & (x.hypot(y) > 0)
    assert (
        float((image[0].double() - expected)[inside].abs().max()) < (2 * torch.pi / disk.boundary_size) ** 2
    )


def test_the_potential_is_the_first_channels_of_the_features(data):
    alone, whole = Potential(SQUARE.n, CURRENTS)(data), Features(SQUARE.n, CURRENTS)(data)
    assert torch.equal(alone[:, :2], whole[:, :2])
    assert bool((alone[:, 2:] == 0).all())
    assert alone.shape == whole.shape


def test_whitened_data_have_uncorrelated_modes_of_one_size(data):
    """A sum of modes comes back as modes of the coefficients of its code; a faint one counts like a strong one."""
    fields = fitted("code-fields", data)
    prior = fields.codes.prior
    z = torch.zeros(2, len(prior.modes), dtype=torch.float64)
    z[0, 0], z[1, 3] = 1.0, 1.0
    found = fields.whitened(prior.data(z))
    sizes = found.square().mean((-2, -1)).sqrt()
    code = fields.codes.code(prior.data(z)).mean
    torch.testing.assert_close(sizes, code.square().sum(-1).sqrt())
    assert float(sizes.min()) > 0.8
    raw = (prior.data(z) - prior.mean).square().mean((-2, -1)).sqrt()
    assert float(raw[0] / raw[1]) > 3 * float(sizes[0] / sizes[1])
    expected = harmonic_extension(SQUARE, found, gradient=True).float()
    torch.testing.assert_close(fields(prior.data(z)), expected)


@pytest.mark.parametrize("name", SUBSTITUTES)
def test_a_substitute_survives_its_file(name, data, tmp_path):
    made = fitted(name, data)
    made.save(tmp_path)
    again = read_input(tmp_path)
    assert type(again) is type(made)
    assert torch.equal(again(data), made(data))
    assert again.at(16).domain.n == 16
    assert (again.replaces, again.least_currents, again.body) == ("harmonic", 2, "square")


@pytest.mark.parametrize("name", SUBSTITUTES)
def test_too_few_currents(name, data):
    with pytest.raises(InputError, match=r"expected \(…, 2, 128\) differences"):
        fitted(name, data)(data[:, :1])


def test_the_codes_of_a_network_of_codes_are_no_fields():
    assert Codes.replaces == ""
    assert CodeFields.parts == Codes.parts
