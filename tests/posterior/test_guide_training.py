"""A guide learns: on one ellipse it soon knows more than the prior, and its phantoms survive the translation."""

import torch

from eitlens.domain import Square
from eitlens.forward import currents
from eitlens.phantom import EllipseSampler
from eitlens.posterior.guide import training
from eitlens.posterior.guide.network import Guide, GuideConfig
from eitlens.posterior.guide.training import Bank, Recipe, train_guide
from eitlens.posterior.model.coordinates import Coordinates, from_numbers, in_order, ordered, to_numbers

SQUARE = Square(32)


def test_ordered_numbers_and_back() -> None:
    coordinates = Coordinates(EllipseSampler(seed=0, disjoint=True))
    z = coordinates.draw(50, 3, torch.device("cpu"))
    put = ordered(SQUARE, coordinates, z)
    assert in_order(SQUARE, coordinates, put).all()
    numbers = to_numbers(put)
    assert ((numbers >= 0) & (numbers < 1)).all()
    back = coordinates.rows(from_numbers(numbers))
    area = (coordinates.rows(z)[..., 2] * coordinates.rows(z)[..., 3]).sum(-1)
    assert torch.allclose((back[..., 2] * back[..., 3]).sum(-1), area)
    turn = (back[..., 4] - coordinates.rows(put)[..., 4]) / torch.pi
    assert torch.allclose(turn, turn.round(), atol=1e-9)


def test_a_guide_learns_one_ellipse() -> None:
    prior = EllipseSampler(seed=0, count=1, disjoint=True)
    recipe = Recipe(phantoms=1500, steps=300, batch=128, lr=3e-3, tolerance=1e-3)
    bank = Bank.simulate(SQUARE, currents.cosine(SQUARE, 3), prior, recipe, lambda count: None, at_once=500)
    config = GuideConfig(
        ellipses=1, boundary=128, modes=12, width=32, layers=2, heads=2, hidden=64, bins=32, tokens=2
    )
    told: list[float] = []
    train_guide(config, bank, recipe, lambda step, loss, held: told.append(held))
    assert told[0] > -0.5
    # Nats a phantom more than the prior knows.
    assert told[-1] < -1.0


def test_every_phantom_held_out_counts_alike(monkeypatch) -> None:
    """The last part, of one phantom, weighs a fifth of the first, of five."""
    held = Bank(torch.tensor([[0.0], [0.0], [0.0], [0.0], [0.0], [6.0]]), torch.zeros(6, 1, 1))
    monkeypatch.setattr(training, "_AT_ONCE", 5)
    monkeypatch.setattr(training, "loss", lambda guide, part, *_: part.numbers.mean())
    guide = Guide(GuideConfig(ellipses=1, boundary=1, modes=1, width=2, layers=1, heads=1, hidden=1, bins=2))
    assert training.validate(guide, held, Recipe()) == 1.0
