"""From samples to network input: order, noise, symmetries, scaling."""

import json
import math
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from eitlens.dataset import Dataset, SolverConfig
from eitlens.domain import Square
from eitlens.errors import InputError
from eitlens.feature import Features, harmonic_extension
from eitlens.feature.codes import Codes
from eitlens.feature.fields import zero_padded_gradient
from eitlens.feature.gaussian import GaussianPrior
from eitlens.feature.storage import read_input
from eitlens.feed import Noise, Pipeline, batches, shuffled
from eitlens.forward import add_noise
from eitlens.forward.currents import CurrentsConfig
from eitlens.forward.symmetry import symmetries
from eitlens.phantom import Ellipse, Phantom, indicator

N = 32
ALL = {
    "identity",
    "mirror x",
    "mirror y",
    "turn 180°",
    "turn 90°",
    "turn 270°",
    "mirror diagonal",
    "mirror antidiagonal",
}


@pytest.fixture(scope="module")
def samples(whole):
    return Dataset.open(whole).split("train")


# Order


def test_an_epoch_is_a_permutation_of_its_own():
    first, second = shuffled(100, 1, 0), shuffled(100, 1, 1)
    assert sorted(first.tolist()) == sorted(second.tolist()) == list(range(100))
    assert first.tolist() != second.tolist() != list(range(100))
    assert torch.equal(first, shuffled(100, 1, 0))


def test_processes_share_each_batch():
    whole = batches(103, 10, 7, 2)
    assert whole.shape == (10, 10)
    assert len(torch.unique(whole)) == 100
    assert torch.equal(torch.cat([batches(103, 10, 7, 2, r, 2) for r in range(2)], 1), whole)
    with pytest.raises(InputError, match=r"batch of 10 .*3"):
        batches(103, 10, 7, 2, 0, 3)
    with pytest.raises(InputError, match="batch of 10 from 9 samples"):
        batches(9, 10, 7, 2)


# Noise


def test_no_noise_is_no_change(samples):
    assert Noise().apply(samples.difference, 0, 0, samples.index) is samples.difference


def test_a_fixed_level_is_the_papers_noise(samples):
    noisy = Noise((0.2,)).apply(samples.difference, 5, 3, samples.index)
    relative = (noisy - samples.difference).norm(dim=-1) / samples.difference.norm(dim=-1)
    assert relative.mean() == pytest.approx(0.2, rel=0.1)
    assert noisy.mean(-1).abs().max() < 1e-15


def test_noise_belongs_to_the_sample_not_to_its_batch(samples):
    noise = Noise((0.0, 0.2), "range")
    together = noise.apply(samples.difference, 5, 3, samples.index)
    rows = torch.tensor([7, 2])
    alone = noise.apply(samples.difference[rows], 5, 3, samples.index[rows])
    assert torch.equal(alone, together[rows])


def test_noise_is_fresh_each_epoch_and_seed(samples):
    def draw(seed, epoch):
        return Noise((0.05,)).apply(samples.difference, seed, epoch, samples.index)

    assert torch.equal(draw(1, 1), draw(1, 1))
    assert not torch.equal(draw(1, 1), draw(1, 2))
    assert not torch.equal(draw(1, 1), draw(2, 1))


def test_levels_are_drawn_from_a_set_or_a_range():
    index = torch.arange(3000)
    tau = Noise((0.0, 0.05, 0.2)).tau(1, 0, index)
    values, counts = torch.unique(tau, return_counts=True)
    assert values.tolist() == [0.0, 0.05, 0.2]
    assert (counts - 1000).abs().max() < 4 * math.sqrt(3000 * 2 / 9)
    tau = Noise((0.1, 0.3), "range").tau(1, 0, index)
    assert 0.1 <= tau.min() < 0.101
    assert 0.299 < tau.max() < 0.3
    assert tau.mean() == pytest.approx(0.2, abs=0.004)


def test_it_is_add_noise_with_a_level_each(samples):
    noise = Noise((0.0, 0.1))
    noisy = noise.apply(samples.difference, 2, 9, samples.index)
    silent = noise.tau(2, 9, samples.index) == 0
    assert 0 < silent.sum() < len(samples)
    assert torch.allclose(noisy[silent], samples.difference[silent], rtol=0, atol=1e-15)
    assert torch.allclose(add_noise(samples.difference, 0.0, 1), samples.difference, rtol=0, atol=1e-15)


@pytest.mark.parametrize("levels", [(), (-0.1,), (float("nan"),), (float("inf"),)])
def test_bad_levels(levels):
    with pytest.raises(InputError, match=r"levels .*>= 0"):
        Noise(levels)


def test_a_range_has_two_ends():
    with pytest.raises(InputError, match="two ends, low <= high"):
        Noise((0.2, 0.1), "range")


# Symmetries


@pytest.mark.parametrize(
    ("family", "count", "allowed"),
    [
        ("cosine", 3, {"identity", "mirror x", "mirror y", "turn 180°"}),
        ("sine", 3, {"identity", "mirror x", "mirror y", "turn 180°"}),
        ("trigonometric", 1, {"identity", "mirror x", "mirror y", "turn 180°"}),
        ("trigonometric", 4, ALL),
        ("trigonometric", 8, ALL),
        ("arclength", 2, ALL),
    ],
)
def test_which_symmetries_the_currents_allow(family, count, allowed):
    assert set(symmetries(Square(N), CurrentsConfig(family, count)).names) == allowed


def moved(phantom: Phantom, name: str) -> Phantom:
    """The phantom with its ellipses rotated or mirrored by hand."""
    turns = {"turn 90°": 0.5, "turn 180°": 1.0, "turn 270°": 1.5}
    # A mirror about the line at angle α sends an angle θ to 2α - θ.
    mirrors = {"mirror x": 1.0, "mirror y": 0.0, "mirror diagonal": 0.5, "mirror antidiagonal": -0.5}
    shapes = []
    for e in phantom.shapes:
        radius, angle = math.hypot(*e.center), math.atan2(e.center[1], e.center[0])
        if name in turns:
            angle, tilt = angle + turns[name] * math.pi, e.angle + turns[name] * math.pi
        elif name in mirrors:
            angle, tilt = mirrors[name] * math.pi - angle, mirrors[name] * math.pi - e.angle
        else:
            tilt = e.angle
        shapes.append(Ellipse((radius * math.cos(angle), radius * math.sin(angle)), e.semi_axes, tilt))
    return Phantom(shapes, phantom.inside, phantom.outside)


@pytest.mark.parametrize("currents", [CurrentsConfig("cosine", 3), CurrentsConfig("trigonometric", 6)])
def test_moving_the_data_is_moving_the_phantom(currents):
    """Against simulating the moved phantom anew, for every symmetry allowed, with an asymmetric phantom."""
    domain = Square(N)
    phantom = Phantom([Ellipse((0.43, -0.21), (0.13, 0.31), 0.4), Ellipse((-0.3, 0.52), (0.2, 0.11), 1.0)])
    solver, given = SolverConfig("boundary-integral").build(domain), currents.build(domain)
    moves = symmetries(Square(N), currents)
    copies = [moved(phantom, name) for name in moves.names]
    choice = torch.arange(len(copies))
    data = moves.move_data(solver.difference([phantom] * len(copies), given), choice)
    masks = moves.move_image(indicator(domain, [phantom] * len(copies)), choice)
    again = solver.difference(copies, given)
    assert torch.allclose(data, again, rtol=0, atol=1e-10)
    assert torch.equal(masks, indicator(domain, copies))
    assert (again[1:] - again[0]).abs().amax((1, 2)).min() > 1e-3, (
        "every move but the identity changes something"
    )


def test_symmetries_are_drawn_evenly_and_purely():
    moves = symmetries(Square(N), CurrentsConfig())
    choice = moves.choose(1, 0, torch.arange(4000))
    assert (torch.bincount(choice, minlength=4) - 1000).abs().max() < 120
    assert torch.equal(moves.choose(1, 0, torch.tensor([17])), choice[17:18])
    assert not torch.equal(moves.choose(1, 1, torch.arange(4000)), choice)


# Features


def test_features_are_the_harmonic_extension(samples):
    features = Features(N)(samples.difference)
    assert features.dtype == torch.float32
    assert features.shape == (13, 9, 33, 33)
    exact = harmonic_extension(Square(N), samples.difference, gradient=True)
    assert torch.equal(features, exact.float())


def test_fitted_channels_have_unit_size(samples):
    fitted = Features(N).scaled(samples.difference)
    size = fitted(samples.difference).square().mean((0, 2, 3)).sqrt()
    assert torch.allclose(size, torch.ones(9), atol=1e-5)
    assert fitted.scale[0] > 3 * fitted.scale[1], "as the notes say: the first current's φ is the largest"


def test_scaling_travels_as_json(samples):
    fitted = Features(N, gradient="repo").scaled(samples.difference[:5])
    again = Features.from_parts(json.loads(json.dumps(fitted.to_dict())))
    assert again == fitted
    with pytest.raises(InputError, match="features: unknown key 'mean'"):
        Features.from_parts(fitted.to_dict() | {"mean": 0})


@pytest.mark.parametrize("scale", [5, "abc", ["a"] * 9])
def test_a_damaged_file_of_features_is_one_line(tmp_path, scale):
    (tmp_path / "features.json").write_text(json.dumps({"n": N, "scale": scale}))
    message = r"features.json: not as eitlens writes it \(.*\): copy it again from the run"
    with pytest.raises(InputError, match=message):
        read_input(tmp_path)


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (Path.unlink, "No such file or directory"),
        (lambda path: path.write_bytes(b"{}"), r"not a whole safetensors file \(.*\)"),
        (
            lambda path: save_file({"mean": torch.zeros(1)}, path),
            r"holds \['mean'\], expected mean, modes, parity",
        ),
    ],
)
def test_damaged_tensors_are_named_not_the_json_beside_them(tmp_path, harm, message):
    zero = torch.zeros(2, 3, 4 * N, dtype=torch.float64)
    prior = GaussianPrior(zero[0], zero, torch.zeros(2, dtype=torch.int64))
    Codes(N, CurrentsConfig(), prior).save(tmp_path)
    harm(tmp_path / "features.safetensors")
    with pytest.raises(InputError, match=rf"features.safetensors: {message}: copy it again") as raised:
        read_input(tmp_path)
    assert "features.json" not in str(raised.value)


def test_no_data_means_no_input():
    assert not Features(N, scale=(2.0,) * 9)(torch.zeros(1, 3, 4 * N)).any()


def test_the_published_gradient():
    """Twice the true one inside, a spike of φ/2h on the edge: see the notes on the published code."""
    line = torch.linspace(0, 1, 201, dtype=torch.float64)
    dx, dy = zero_padded_gradient((2 * line)[:, None].expand(201, 201))
    assert torch.allclose(dx[1:-1], torch.tensor(2.01, dtype=torch.float64))
    assert float(dx[-1, 5]) == pytest.approx(-1.99 * 201 / 2)
    assert not dy[:, 1:-1].any()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Features(N, scale=(1.0, 2.0)), "expected 9 scales"),
        (lambda: Features(N, scale=(0.0,) * 9), "must be positive"),
        (lambda: Features(N, gradient="sobel"), "must be one of exact, repo"),
        (lambda: Features(N)(torch.zeros(4, 2, 4 * N)), r"expected \(…, 3, 128\) boundary differences"),
        (lambda: Features(N)(torch.zeros(4, 3, 4 * N - 4)), "were the corners dropped"),
        (lambda: Features(N)(torch.full((1, 3, 4 * N), torch.nan)), "NaN or infinite"),
        (lambda: Features(N).scaled(torch.zeros(4, 3, 4 * N)), "is zero"),
    ],
)
def test_bad_features(make, message):
    with pytest.raises(InputError, match=message):
        make()


# All together


def test_the_pipeline_is_a_pure_function_of_the_sample(samples):
    pipeline = Pipeline(
        Features(N).scaled(samples.difference), Noise((0.0, 0.2), "range"), augment=True, seed=4
    )
    together = pipeline(samples, epoch=6)
    rows = torch.tensor([11, 3, 5])
    alone = pipeline(samples[rows], epoch=6)
    assert torch.equal(alone.target, together.target[rows])
    assert torch.allclose(alone.features, together.features[rows], rtol=0, atol=1e-6)
    assert alone.index.tolist() == [11, 3, 5]
    assert not torch.equal(pipeline(samples, epoch=7).target, together.target)


def test_targets_are_the_masks(samples):
    example = Pipeline(Features(N))(samples)
    assert example.target.shape == (13, 1, 33, 33)
    assert torch.equal(example.target[:, 0] > 0, samples.mask)
    assert example.difference is samples.difference
