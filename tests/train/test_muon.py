"""The optimiser for matrices."""

import torch
from torch import nn

from eitlens.train import optimiser
from eitlens.train.muon import Muon, is_matrix, orthogonal


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 96), nn.GELU(), nn.Linear(96, 64))


def steps(net: nn.Module, muon: Muon, count: int, first: int = 0) -> list[float]:
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(128, 64, generator=generator)
    y = torch.sin(x @ torch.randn(64, 64, generator=generator) / 4)
    losses = []
    for _ in range(first, first + count):
        optimiser.adjust(muon, 3e-3, 0.9)
        muon.zero_grad()
        loss = (net(x) - y).square().mean()
        loss.backward()
        muon.step()
        losses.append(loss.item())
    return losses


def test_singular_values_come_near_one():
    matrices = torch.randn(3, 64, 200, generator=torch.Generator().manual_seed(0))
    for part in (matrices, matrices.mT):
        values = torch.linalg.svdvals(orthogonal(part))
        assert values.min() > 0.6
        assert values.max() < 1.3


def test_it_learns_and_takes_matrices_only():
    net = network()
    muon = Muon(net.parameters(), 0.0)
    losses = steps(net, muon, 60)
    assert losses[-1] < 0.7 * losses[0]
    for parameter in net.parameters():
        assert ("momentum" in muon.state[parameter]) == is_matrix(parameter)


def test_its_state_goes_to_tensors_and_back():
    net = network()
    muon = Muon(net.parameters(), 0.01)
    steps(net, muon, 3)
    kept = {name: tensor.clone() for name, tensor in optimiser.to_tensors(muon).items()}
    weights = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    expected = steps(net, muon, 3)
    again = network()
    again.load_state_dict(weights)
    other = Muon(again.parameters(), 0.01)
    optimiser.from_tensors(other, kept)
    assert steps(again, other, 3) == expected
