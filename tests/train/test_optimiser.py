"""The optimiser for matrices."""

import torch
from torch import nn
from torch.optim import Optimizer

from eitlens.train import optimiser
from eitlens.train.optimiser import create_muon, is_matrix


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 96), nn.GELU(), nn.Linear(96, 64))


def steps(net: nn.Module, muon: list[Optimizer], count: int) -> list[float]:
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(128, 64, generator=generator)
    y = torch.sin(x @ torch.randn(64, 64, generator=generator) / 4)
    losses = []
    for _ in range(count):
        optimiser.adjust(muon, 3e-3, 0.9)
        net.zero_grad()
        loss = (net(x) - y).square().mean()
        loss.backward()
        for each in muon:
            each.step()
        losses.append(loss.item())
    return losses


def test_singular_values_come_near_one():
    """All singular values of a step are near the learning rate times 0.2 √(larger side)."""
    for shape in ((64, 200), (200, 64)):
        matrix = nn.Parameter(torch.zeros(shape))
        matrix.grad = torch.randn(shape, generator=torch.Generator().manual_seed(0))
        (muon,) = create_muon([matrix], 0.0)
        optimiser.adjust([muon], 1e-3, 0.9)
        muon.step()
        values = torch.linalg.svdvals(matrix.detach()) / (1e-3 * 0.2 * 200**0.5)
        assert values.min() > 0.6
        assert values.max() < 1.3


def test_it_learns_and_takes_matrices_only():
    net = network()
    muon = create_muon(net.parameters(), 0.0)
    losses = steps(net, muon, 60)
    assert losses[-1] < 0.7 * losses[0]
    for parameter in net.parameters():
        assert (parameter in muon[0].state) == is_matrix(parameter) != (parameter in muon[1].state)


def test_its_state_goes_to_tensors_and_back():
    net = network()
    muon = create_muon(net.parameters(), 0.01)
    steps(net, muon, 3)
    kept = {name: tensor.clone() for name, tensor in optimiser.to_tensors(muon).items()}
    weights = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    expected = steps(net, muon, 3)
    again = network()
    again.load_state_dict(weights)
    other = create_muon(again.parameters(), 0.01)
    optimiser.from_tensors(other, kept)
    assert steps(again, other, 3) == expected
