"""Codes of data of unit size: the size is taken out and told, both noises are found, and faint data are not lost."""

from dataclasses import replace

import pytest
import torch

from eitlens.domain import Square
from eitlens.feature import Codes, InputRecipe, read_input
from eitlens.feature.scaled import LEVELS, ScaledCodes
from eitlens.feed import Noise
from eitlens.forward import BoundaryIntegralSolver, currents
from eitlens.forward.currents import CurrentsConfig
from eitlens.phantom import EllipseSampler, PhantomBatch

SQUARE, MODES = Square(32), 48
RECIPE = InputRecipe(n=32, currents=CurrentsConfig(count=2), modes=MODES)


@pytest.fixture(scope="module")
def data():
    """Single ellipses of every contrast from 1.02 to 100: their data differ in size by a factor of a hundred."""
    batch = EllipseSampler(seed=4, count=1, disjoint=True).batch(0, 400)
    group = batch.groups[0]
    power = torch.linspace(0.02, 4.6, 400, dtype=torch.float64).flip(0)[torch.arange(400) * 197 % 400]
    bodies = PhantomBatch((replace(group, inside=power.exp()[:, None]),), batch.outside)
    return BoundaryIntegralSolver(SQUARE, 1e-6).difference(bodies, currents.cosine(SQUARE, 2))


@pytest.fixture(scope="module")
def codes(data):
    return ScaledCodes.fitted(RECIPE, lambda _: data[:350])


def errors(found, clean):
    return ((found - clean).square().sum((1, 2)) / clean.square().sum((1, 2))).sqrt()


def fit(codes, data):
    unit, size = codes.scaled(data)
    return codes.codes.prior.data(codes.codes.prior.code(unit).mean) * (size * codes.size)[:, None, None]


def test_the_size_is_told_and_nothing_else_depends_on_it(codes, data):
    one, ten = codes(data[350:]), codes(10 * data[350:])
    change = ten - one
    place = 2 * MODES + LEVELS - 1
    torch.testing.assert_close(change[:, place], torch.full((50,), 10.0).log(), rtol=1e-4, atol=1e-4)
    change[:, place] = 0
    assert float(change.abs().max()) < 1e-3


@pytest.mark.parametrize(
    ("noise", "share"), [(Noise((0.05,)), 1.0), (Noise((0.0,), white=(0.05, 0.05)), 0.8)]
)
def test_it_leaves_less_of_the_noise_than_the_plain_code(codes, data, noise, share):
    plain = Codes.fitted(RECIPE, lambda _: data[:350])
    clean = data[350:]
    noisy = noise.apply(clean, 7, 0, torch.arange(50))
    ours = errors(fit(codes, noisy), clean)
    theirs = errors(plain.prior.data(plain.code(noisy).mean), clean)
    assert float(ours.median()) < 0.6 * float(errors(noisy, clean).median())
    assert float(ours.quantile(0.9)) < share * float(theirs.quantile(0.9))


def test_both_noises_are_found(codes, data):
    clean = data[300:]
    for tau, white in ((0.1, 0.0), (0.0, 0.1), (0.1, 0.1)):
        noise = Noise((tau,)) if not white else Noise((tau,), white=(white, white))
        # With white noise a third of the samples has each mixture: those with the wanted one are looked at.
        noisy = noise.apply(clean, 7, 0, torch.arange(100))
        found = codes(noisy)[:, 2 * MODES : 2 * MODES + 2].exp()
        sizes = errors(noisy, clean)
        wanted = (sizes - (tau**2 + white**2) ** 0.5).abs() < 0.02
        assert int(wanted.sum()) > 20
        for k, level in enumerate((tau, white)):
            value = float(found[wanted, k].median())
            assert value < 0.03 if level == 0 else value == pytest.approx(level, rel=0.25)


def test_missing_currents_and_nodes_are_no_noise(codes, data):
    one = codes(data[350:, :1])
    assert bool(torch.isfinite(one).all())
    gaps = data[350:].clone()
    gaps[:, :, 5:20] = torch.nan
    assert bool(torch.isfinite(codes(gaps)).all())
    assert bool(torch.isfinite(codes(torch.zeros(1, 2, 128, dtype=torch.float64))).all())


def test_it_is_read_as_it_was_written(codes, data, tmp_path):
    codes.save(tmp_path)
    again = read_input(tmp_path)
    assert torch.equal(again(data[:3]), codes(data[:3]))
    assert (again.n, again.body, again.currents) == (32, "square", RECIPE.currents)
