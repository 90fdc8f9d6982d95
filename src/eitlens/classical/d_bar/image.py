"""The D-bar method from a measurement: the map Λ_σ - Λ_1 from the readings, a cut-off from the noise, the image."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Complex128, Float64
from torch import Tensor

from eitlens import checks
from eitlens.classical.d_bar.equation import grid, solve
from eitlens.classical.d_bar.scattering import Traces, scattering_transform
from eitlens.domain import Domain
from eitlens.measure.base import Measurement
from eitlens.threads import free_cores_only

Waves = Float64[Tensor, "*draws waves waves"]

_POINTS = 32  # of k across |k| < R
_CELLS = 48  # a side of the image: its finest waves are π/R long, and R ≤ 8
_LARGEST = 8.0  # R: beyond it e^{2R} takes all digits of a measurement
_RADII, _TURNS = 40, 7  # values of |k| and angles that are tried
_DOUBT = 0.5  # of the root mean square of t on |k| = R


@dataclass(frozen=True)
class DBar:
    """The image of the D-bar method.

    Attributes:
        image: (n+1, n+1), σ in S/m, 0 outside the body.
        radius: R, at which the scattering transform was cut off.
        waves: cosines and sines along the boundary, in which the readings tell Λ_σ.
        noise: relative noise of the readings, over the root mean square of what changed in them.
        domain: the body, with the grid of the image.
    """

    image: Float64[Tensor, "nx ny"]
    radius: float
    waves: int
    noise: float
    domain: Domain


@free_cores_only()
def dbar(
    measurement: Measurement,
    radius: float | None = None,
    traces: Traces = "exact",
    domain: Domain | None = None,
) -> DBar:
    """Image σ by the D-bar method, from the readings of the first frame.

    It needs many currents, of any kind, and σ = σ0 near the boundary. The body may have any smooth outline: the Riemann
    map takes it to the disk.

    Args:
        measurement: with a reference; without one the empty body is computed.
        radius: R, where the scattering transform is cut off; from the noise when left out. Larger is sharper.
        traces: "exact" solves the integral equation for ψ on the boundary; "exp" takes e^{ikz} (t^exp).
        domain: the body with the grid of the image; 48 cells a side when left out.

    >>> tank, body = eit.Disk(32, scale=0.1), eit.Phantom([eit.circle((0.4, 0.0), 0.25)], (3.0,))
    >>> electrodes, pattern = eit.Electrodes.even(tank, 32), eit.Pattern.named("trigonometric", 32, driven=True)
    >>> volts = eit.simulate_readings(electrodes, pattern, [eit.Phantom([]), body])
    >>> found = eit.dbar(eit.Measurement.of_electrodes(electrodes, pattern, volts[1], volts[0], conductivity=1.0))
    >>> x, y = (found.image == found.image.max()).nonzero()[0].tolist()
    >>> abs(-1 + x / 24 - 0.4) < 0.1 and abs(-1 + y / 24) < 0.1
    True
    """
    body = measurement.domain.at(_CELLS) if domain is None else domain
    found = measurement.boundary_map()
    change = _modes(_dirichlet(found.change))
    if radius is None:
        cut = _cut_off(change, _modes(_dirichlet(found.draws)), traces)
    else:
        cut = checks.positive_number(radius, "radius")
    points = grid(cut, _POINTS, torch.device("cpu"))
    t = scattering_transform(change, points.k, traces)
    inside = body.inside()
    place = body.conformal_map(body.nodes()[inside]).value
    image = torch.zeros(body.shape, dtype=torch.float64)
    image[inside] = found.conductivity * solve(t, points, place).real.square()
    return DBar(image, cut, len(found.change), found.noise, body)


def _dirichlet(neumann: Waves) -> Waves:
    """Λ_σ - Λ_1 from what changes in the Neumann-to-Dirichlet map, which is 1/k for the empty disk."""
    order = torch.arange(1, neumann.shape[-1] // 2 + 1, dtype=torch.float64).repeat(2)
    change: Tensor = torch.linalg.inv(torch.diag(1 / order) + neumann) - torch.diag(order)
    return change


def _modes(change: Waves) -> Complex128[Tensor, "*draws modes modes"]:
    """The map between e^{inθ}, n = -N … N, from that between waves."""
    top = change.shape[-1] // 2
    n = torch.arange(1, top + 1)
    e = torch.zeros(2 * top, 2 * top + 1, dtype=torch.complex128)
    e[n - 1, top + n] = e[n - 1, top - n] = torch.ones(top, dtype=e.dtype)
    e[top + n - 1, top + n] = torch.full((top,), 1j, dtype=e.dtype)
    e[top + n - 1, top - n] = torch.full((top,), -1j, dtype=e.dtype)
    return e.mH @ change.to(e.dtype) @ e / 2


def _cut_off(
    change: Complex128[Tensor, "modes modes"],
    draws: Complex128[Tensor, "draws modes modes"],
    traces: Traces,
) -> float:
    """The largest R up to which t on |k| = R stands above what other maps make of it that explain the readings too."""
    radii = torch.linspace(0, _LARGEST, _RADII + 1, dtype=torch.float64)[1:]
    k = torch.polar(
        radii[:, None], torch.arange(_TURNS, dtype=torch.float64) * (2 * math.pi / _TURNS)
    ).flatten()
    t = scattering_transform(change, k, traces)
    error = torch.stack([scattering_transform(draw, k, traces) - t for draw in draws])
    size, doubt = (part.abs().square().view(-1, _RADII, _TURNS).mean((0, 2)) for part in (t[None], error))
    above = doubt <= _DOUBT**2 * size
    return float(radii[max(int(above.to(torch.int64).cumprod(0).sum()) - 1, 0)])
