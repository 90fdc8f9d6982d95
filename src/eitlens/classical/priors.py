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

_POWER = (
    0.5  # of NOSER: between Tikhonov (0), whose images lie at the boundary, and 1, whose lie at the centre
)
_LENGTH = 0.15  # of the Gaussian, in units of half the body's box: an inclusion that 16 electrodes just see
_ROUGHEST = 1e-6  # white part of the Gaussian, so that its covariance has an inverse
_BODY = 1.0  # 1/κ of the Laplace prior, in the same units


def tikhonov(tank: LinearTank) -> Covariance:
    """Nodes by themselves, all alike."""
    return torch.eye(len(tank.nodes), dtype=torch.float64)


def noser(tank: LinearTank, power: float = _POWER) -> Covariance:
    """Nodes by themselves, over their sensitivity: the more the readings tell of a node, the less it may change."""
    density = tank.jacobian.norm(dim=0) / tank.area
    return torch.diag((density / density.mean()) ** (-2 * power))


def laplace(tank: LinearTank) -> Covariance:
    """Smooth: differences between neighbours are small."""
    right, up = tank.model.lattice.slopes
    mean = torch.eye(len(tank.nodes), dtype=torch.float64) / _BODY**2
    inverse = torch.linalg.inv(right.mT @ right + up.mT @ up + mean)
    square = inverse @ inverse
    covariance: Covariance = square / square.diagonal().mean()
    return covariance


def gaussian(tank: LinearTank) -> Covariance:
    """Smooth over a length: what is nearer than it changes together."""
    smooth = torch.exp(-torch.cdist(tank.nodes, tank.nodes).square() / (2 * _LENGTH**2))
    return smooth + _ROUGHEST * torch.eye(len(smooth), dtype=torch.float64)


PRIORS: Registry[Prior] = Registry(
    "prior", {"tikhonov": tikhonov, "noser": noser, "laplace": laplace, "gaussian": gaussian}
)
"""The priors by name."""
