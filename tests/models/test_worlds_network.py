"""The network for many worlds: its five outputs, what they mean as one, their loss, and means over mirror images."""

import math
from dataclasses import replace

import pytest
import torch

from eitlens import models
from eitlens.domain import Square
from eitlens.evaluate.phases import PhaseTally, phased_metrics
from eitlens.feature import Features
from eitlens.forward import BoundaryIntegralSolver, currents
from eitlens.forward.currents import CurrentsConfig
from eitlens.forward.symmetry import symmetries
from eitlens.models.trained import Trained
from eitlens.models.worlds import phase_loss
from eitlens.phantom import EllipseSampler

TINY = {
    "modes": 16,
    "width": 64,
    "layers": 1,
    "heads": 2,
    "grid": 4,
    "hidden": 64,
    "waves": 2,
    "amplitudes": 2,
    "fine": 8,
}


def exact(log_sigma: torch.Tensor, deviation: float = 0.05, sure: float = 20.0) -> torch.Tensor:
    """The outputs of a network that knows the truth."""
    bound = math.log(2) / 2
    truth = torch.stack([log_sigma.abs() <= bound, log_sigma < -bound, log_sigma > bound], 1)
    width = torch.full_like(log_sigma, math.log(deviation))
    return torch.cat([sure * truth, log_sigma[:, None], width[:, None]], 1)


@pytest.fixture
def log_sigma():
    values = torch.zeros(2, 33, 33)
    values[:, 4:12, 5:20], values[0, 20:30, 8:16] = math.log(10.0), math.log(0.1)
    return values


def test_five_numbers_a_node_and_one_logit():
    network = models.create("worlds", currents=2, **TINY)
    outputs = network(network.random_input(3, 32))
    assert outputs.shape == (3, 5, 33, 33)
    chance = torch.sigmoid(network.inclusion(outputs))[:, 0]
    torch.testing.assert_close(chance, 1 - outputs[:, :3].softmax(1)[:, 0])


def test_the_loss_is_least_at_the_truth(log_sigma):
    target = log_sigma[:, None]
    best = phase_loss(exact(log_sigma), target)
    assert float(best) == pytest.approx(0.02 * math.log(0.05), abs=1e-6)
    for worse in (exact(0 * log_sigma), exact(log_sigma, 0.5), exact(log_sigma + 0.2)):
        assert float(phase_loss(worse, target)) > float(best) + 0.01


def test_the_deviation_of_least_loss_is_the_error():
    generator = torch.Generator().manual_seed(1)
    truth = 0.3 * torch.randn(8, 1, 33, 33, generator=generator)
    width = torch.zeros(1, requires_grad=True)
    outputs = torch.cat([torch.zeros(8, 4, 33, 33), width.expand(8, 1, 33, 33)], 1)
    minimiser = torch.optim.Adam([width], 0.05)
    for _ in range(150):
        minimiser.zero_grad()
        outputs = torch.cat([torch.zeros(8, 4, 33, 33), width.expand(8, 1, 33, 33)], 1)
        phase_loss(outputs, truth).backward()
        minimiser.step()
    assert float(width.detach().exp()) == pytest.approx(0.3, rel=0.03)


def test_metrics_of_the_truth_and_of_what_is_wrong(log_sigma):
    found = phased_metrics(exact(log_sigma), log_sigma[:, None])
    for name in ("hard_dice", "dice_resistive", "dice_conductive"):
        assert found[name].tolist() == [1.0, 1.0]
    for name in ("relative_l2", "sigma_error"):
        assert float(found[name].max()) < 1e-6
    swapped = phased_metrics(exact(-log_sigma), log_sigma[:, None])
    assert swapped["hard_dice"].tolist() == [1.0, 1.0]
    assert swapped["dice_conductive"].tolist() == [0.0, 0.0]


def test_coverage_and_calibration_of_what_is_known_exactly():
    """Log σ normal around the mean with the deviation told: 90 % lie in the interval of 90 %."""
    draw = torch.Generator().manual_seed(2)
    mean = torch.full((6, 64, 64), 2.0)
    truth = mean + 0.2 * torch.randn(mean.shape, generator=draw)
    tally = PhaseTally()
    tally.add(exact(mean, 0.2), truth)
    values = tally.values()
    assert float(values["coverage"].mean()) == pytest.approx(0.9, abs=0.01)
    assert float(values["sigma_inside"].mean()) == pytest.approx(0.6745 * 0.2, rel=0.03)
    assert tally.curves()["conductive"].error() < 1e-6


@pytest.fixture(scope="module")
def case():
    """An untrained network of fields, and data of three bodies."""
    torch.manual_seed(3)
    square, known = Square(32), CurrentsConfig(count=2)
    network = models.create("uit-small", currents=2, width=8, resolution=32).eval()
    data = BoundaryIntegralSolver(square, 1e-5).difference(
        EllipseSampler(seed=1, count=1, disjoint=True).batch(0, 3), currents.cosine(square, 2)
    )
    return Trained(network, Features(32, known)), data


def test_the_mean_over_mirror_images_moves_with_the_body(case):
    trained, data = case
    mean, moves = replace(trained, symmetries=True), symmetries(Square(32), CurrentsConfig(count=2))
    image = mean(data)
    assert len(moves.names) == 4
    for k in range(4):
        choice = torch.full((3,), k)
        moved = mean(moves.move_data(data, choice))
        torch.testing.assert_close(moved, moves.move_image(image, choice), rtol=0, atol=2e-5)
    plain = trained(moves.move_data(data, torch.full((3,), 1)))
    assert float((plain - moves.move_image(trained(data), torch.full((3,), 1))).abs().max()) > 1e-3


def test_the_mean_is_that_of_the_images_moved_back(case):
    trained, data = case
    moves = symmetries(Square(32), CurrentsConfig(count=2))
    parts = []
    for k, back in enumerate(moves.inverses):
        image = trained(moves.move_data(data, torch.full((3,), k)))
        parts.append(moves.move_image(image, torch.full((3,), back)))
    torch.testing.assert_close(
        replace(trained, symmetries=True)(data), torch.stack(parts).mean(0), rtol=0, atol=1e-5
    )


def test_one_current_has_a_mean_too_and_what_is_missing_stays_missing(case):
    trained, data = case
    mean = replace(trained, symmetries=True)
    answer = mean.answer(data)
    torch.testing.assert_close(answer.logits, mean(data))
    assert answer.outputs.shape == (3, 1, 33, 33)
