"""Priors of linear images: what is expected of δσ before anything is measured, as covariances of Gaussians.

Each is a function of the tank; the size of δσ does not count, as the strength of the prior is chosen apart.

- `tikhonov`: white, each node by itself. Favours changes next to the electrodes.
- `noser`: the same over the sensitivity of each node, ‖∂V/∂σ(x)‖^(2p) with p = ½, so that the depth counts too.
- `laplace`: smooth; its precision is (κ² - Δ)² with natural boundary values, 1/κ half of the body.
- `gaussian`: smooth over a length ℓ, exp(-|x - y|² / 2ℓ²).

References: M. Cheney, D. Isaacson, J. Newell, S. Simske, J. Goble, "NOSER: an algorithm for solving the inverse
conductivity problem", Int. J. Imaging Systems and Technology 2 (1990); A. Adler, R. Guardo, "Electrical impedance
tomography: regularized imaging and contrast detection", IEEE TMI 15 (1996).
"""

from collections.abc import Callable

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens.classical.linear_tank import LinearTank
from eitlens.registry import Registry

Covariance = Float64[Tensor, "unknowns unknowns"]
Prior = Callable[[LinearTank], Covariance]

_POWER = 0.5  # of NOSER: between Tikhonov (0), whose images lie at the boundary, and 1, whose lie at the centre
_LENGTH = 0.15  # of the Gaussian, in units of half the body's box: an inclusion that 16 electrodes just see
_ROUGHEST = 1e-6  # white part of the Gaussian, so that its covariance has an inverse
_BODY = 1.0  # 1/κ of the Laplace prior, in the same units


def tikhonov(tank: LinearTank) -> Covariance:
    """Nodes by themselves, all alike."""
    return torch.eye(int(tank.unknown.sum()), dtype=torch.float64)


def noser(tank: LinearTank) -> Covariance:
    """Nodes by themselves, over their sensitivity: the more the readings tell of a node, the less it may change."""
    density = tank.jacobian.norm(dim=0) / tank.mass[tank.unknown]
    return torch.diag((density / density.mean()) ** (-2 * _POWER))


def laplace(tank: LinearTank) -> Covariance:
    """Smooth: differences between neighbours are small."""
    step = 2 / tank.cells
    number = torch.full(tank.grid.shape, -1)
    number[tank.unknown] = torch.arange(int(tank.unknown.sum()))
    pairs = [
        torch.stack([a.flatten(), b.flatten()])
        for a, b in ((number[1:], number[:-1]), (number[:, 1:], number[:, :-1]))
    ]
    a, b = torch.cat(pairs, 1)[:, (torch.cat(pairs, 1) >= 0).all(0)]
    graph = torch.zeros(2 * (int(number.max()) + 1,), dtype=torch.float64)
    graph[a, b] = graph[b, a] = -1.0
    operator = graph - torch.diag(graph.sum(0) - (step / _BODY) ** 2)
    inverse = torch.linalg.inv(operator)
    return inverse @ inverse / (inverse @ inverse).diagonal().mean()


def gaussian(tank: LinearTank) -> Covariance:
    """Smooth over a length: what is nearer than it changes together."""
    place = tank.grid.nodes()[tank.unknown]
    smooth = torch.exp(-torch.cdist(place, place).square() / (2 * _LENGTH**2))
    return smooth + _ROUGHEST * torch.eye(len(place), dtype=torch.float64)


PRIORS: Registry[Prior] = Registry(
    "prior", {"tikhonov": tikhonov, "noser": noser, "laplace": laplace, "gaussian": gaussian}
)
"""The priors by name."""
