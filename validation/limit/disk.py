"""One disk of known size: the posterior of its centre by sampling and by quadrature on a grid."""

import torch
from torch import Tensor

from eitlens import posterior
from eitlens.domain import Square
from eitlens.forward import BoundaryIntegralSolver, add_noise, currents
from eitlens.forward.integral.linearised import LinearisedSolver
from eitlens.forward.integral.sources import BoundarySources
from eitlens.phantom import EllipseSampler
from eitlens.posterior import Settings
from eitlens.posterior.model.likelihood import Likelihood

RADIUS, TAU = 0.2, 0.5
SQUARE = Square(16)
CURRENTS = currents.cosine(SQUARE, 2)
_HALF, _LINE = 0.1, 161


def against_quadrature(phantom: int, settings: Settings) -> dict[str, float]:
    """The largest distance between sampled and exact distribution functions, and relative error of the widths."""
    prior = EllipseSampler(seed=2, count=1, short=(RADIUS, RADIUS), long=(RADIUS, RADIUS))
    batch = prior.batch(phantom, phantom + 1)
    clean = BoundaryIntegralSolver(SQUARE).difference(batch, CURRENTS)
    noisy = add_noise(clean, TAU, seed=5, index=torch.tensor([phantom]))
    result = posterior.sample(noisy, SQUARE, CURRENTS, TAU, prior, settings)
    centers, weight = _quadrature(noisy, batch.groups[0].parameters[0, 0, :2])
    errors = {"rhat": float(result.diagnostics.rhat), "ess": float(result.diagnostics.ess)}
    for axis, name in enumerate("xy"):
        drawn, share = result.rows[0, :, 0, axis], result.weight[0]
        errors[f"cdf_{name}"] = _distance(centers[:, axis], weight, drawn, share)
        errors[f"width_{name}"] = abs(_width(drawn, share) / _width(centers[:, axis], weight) - 1)
        shift = abs(float(share @ drawn) - float(weight @ centers[:, axis]))
        errors[f"shift_{name}"] = shift / _width(centers[:, axis], weight)
    return errors


def _quadrature(noisy: Tensor, middle: Tensor) -> tuple[Tensor, Tensor]:
    """Centres about the true one and their posterior weights; nothing is outside of the box."""
    line = torch.linspace(-_HALF, _HALF, _LINE, dtype=torch.float64)
    centers = middle + torch.cartesian_prod(line, line)
    shape = torch.tensor([RADIUS, RADIUS, 0.0], dtype=torch.float64).expand(len(centers), 3)
    sources = BoundarySources.build(SQUARE, CURRENTS, 0.05, 1e-9)
    solve = LinearisedSolver(SQUARE, sources, 10.0, 1.0, 48)
    data = solve.data(torch.cat([centers, shape], 1)[:, None])
    likelihood = Likelihood(noisy, torch.tensor([TAU], dtype=torch.float64))
    return centers, torch.softmax(likelihood.value(data[None], likelihood.last)[0], 0)


def _distance(places: Tensor, weight: Tensor, drawn: Tensor, share: Tensor) -> float:
    points = torch.linspace(float(places.min()), float(places.max()), 2001, dtype=torch.float64)
    # The grid's masses are spread over its cells, or the steps would count as an error.
    step = 2 * _HALF / (_LINE - 1)
    part = ((points[:, None] - places) / step + 0.5).clamp(0, 1)
    exact, found = part @ weight, (drawn < points[:, None]).double() @ share
    return float((exact - found).abs().max())


def _width(values: Tensor, weight: Tensor) -> float:
    mean = weight @ values
    return float((weight @ (values - mean).square()).sqrt())
