"""What the tests of the posterior share: a coarse square, two currents, the paper's prior, and measurements."""

import torch
from torch import Tensor

from eitlens.domain import Square
from eitlens.forward import BoundaryIntegralSolver, add_noise, currents
from eitlens.forward.integral.linearised import LinearisedSolver
from eitlens.forward.integral.sources import BoundarySources
from eitlens.phantom import EllipseSampler
from eitlens.posterior.guide.network import Guide, GuideConfig
from eitlens.posterior.model.coordinates import Coordinates
from eitlens.posterior.model.likelihood import Likelihood
from eitlens.posterior.model.target import Target

SQUARE = Square(16)
CURRENTS = currents.cosine(SQUARE, 2)
PRIOR = EllipseSampler(seed=1, disjoint=True)
COORDINATES = Coordinates(PRIOR)
CPU = torch.device("cpu")
MARGIN = 1 - PRIOR.extent


def solver(nodes: int, inside: float = 10.0) -> LinearisedSolver:
    return LinearisedSolver(
        SQUARE, BoundarySources.build(SQUARE, CURRENTS, MARGIN, 1e-12), inside, 1.0, nodes
    )


def rows(count: int) -> Tensor:
    return PRIOR.batch(0, count).groups[0].parameters


def measure(prior: EllipseSampler, k: int, tau: float) -> Tensor:
    clean = BoundaryIntegralSolver(SQUARE).difference(prior.batch(k, k + 1), CURRENTS)
    return add_noise(clean, tau, seed=5, index=torch.tensor([k]))


def prior_scale(target: Target) -> Tensor:
    return target.coordinates.precision(CPU).rsqrt()


def log_likelihood_of_disks(
    likelihood: Likelihood, middle: Tensor, half: float, count: int
) -> tuple[Tensor, Tensor]:
    line = torch.linspace(-half, half, count, dtype=torch.float64)
    centers = middle + torch.cartesian_prod(line, line)
    grid = torch.cat([centers, torch.tensor([0.2, 0.2, 0.0]).double().expand(len(centers), 3)], 1)
    data = solver(32).data(grid[:, None])
    return likelihood.value(data[None], likelihood.last)[0], centers


def wrong_guide(currents: int, boundary: int, flattest: float) -> Guide:
    """A guide of two ellipses that was never trained, and is sure of what it says."""
    torch.manual_seed(0)
    sizes = {"width": 32, "layers": 1, "heads": 2, "hidden": 32, "bins": 8, "tokens": 1, "modes": 8}
    guide = Guide(GuideConfig(ellipses=2, currents=currents, boundary=boundary, flattest=flattest, **sizes))
    torch.nn.init.normal_(guide.heads, std=0.12)
    return guide.eval()
