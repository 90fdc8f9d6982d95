"""The D-bar method from a measurement: the map Λ_σ - Λ_1 from the readings, a cut-off from the noise, the image."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Complex128, Float64
from torch import Tensor

from eitlens import checks
from eitlens.classical.d_bar.equation import grid, solve
from eitlens.classical.d_bar.scattering import Traces, scattering
from eitlens.domain import Domain
from eitlens.errors import InputError, prefix_errors
from eitlens.forward.currents import CurrentsConfig, arclength
from eitlens.measure.base import Measurement
from eitlens.threads import free_cores_only

Waves = Float64[Tensor, "waves waves"]
_FEWEST, _MOST = 4, 64  # waves, cosines and sines together: of 8 electrodes and of 64
_POINTS = 32  # of k across |k| < R
_LARGEST = 8.0  # R: beyond it e^{2R} takes all digits of a measurement
_RADII = 60  # that are tried
_NOISE = 0.5  # of the mean square of t on |k| = R, that the noise may make


@dataclass(frozen=True)
class DBar:
    """The image of the D-bar method.

    Attributes:
        image: (n+1, n+1), σ in S/m, 0 outside the body.
        radius: R, at which the scattering transform was cut off.
        waves: cosines and sines along the boundary, in which the readings tell Λ_σ.
        noise: relative noise of the readings, which R follows from; None where the data do not tell.
    """

    image: Float64[Tensor, "nx ny"]
    radius: float
    waves: int
    noise: float | None


@free_cores_only()
def dbar(
    measurement: Measurement,
    radius: float | None = None,
    traces: Traces = "exact",
    tau: float | None = None,
    domain: Domain | None = None,
) -> DBar:
    """Image σ by the D-bar method, from the readings of the first frame.

    It needs many currents, of any kind, and σ = σ0 near the boundary. The body may have any smooth outline: the Riemann
    map takes it to the disk.

    Args:
        measurement: with a reference; without one the empty body is computed.
        radius: R, where the scattering transform is cut off; from the noise when left out. Larger is sharper.
        traces: "exact" solves the integral equation for ψ on the boundary; "exp" takes e^{ikz} (t^exp).
        tau: relative noise of the readings, where it is known.
        domain: the body with the grid of the image; 64 cells a side when left out.

    >>> tank, body = eit.Disk(32, scale=0.1), eit.Phantom([eit.circle((0.4, 0.0), 0.25)], (3.0,))
    >>> electrodes, pattern = eit.Electrodes.even(tank, 32), eit.Pattern.named("trigonometric", 32, driven=True)
    >>> volts = eit.simulate_readings(electrodes, pattern, [eit.Phantom([]), body])
    >>> found = eit.dbar(eit.Measurement.of_electrodes(electrodes, pattern, volts[1], volts[0], conductivity=1.0))
    >>> x, y = (found.image == found.image.max()).nonzero()[0].tolist()
    >>> abs(-1 + x / 32 - 0.4) < 0.1 and abs(-1 + y / 32) < 0.1
    True
    """
    body = measurement.domain.at(64) if domain is None else domain
    change, noise = _map(measurement, body)
    noise = noise if tau is None else tau
    with prefix_errors(measurement.source):
        cut = _cut_off(change, noise, traces) if radius is None else checks.positive_number(radius, "radius")
    points = grid(cut, _POINTS, torch.device("cpu"))
    t = scattering(_modes(change), points.k, traces)
    inside = body.inside()
    place = body.conformal_map(body.nodes()[inside]).value
    sigma = 1.0 if measurement.conductivity is None else measurement.conductivity
    image = torch.zeros(body.shape, dtype=torch.float64)
    image[inside] = sigma * solve(t, points, place).real.square()
    return DBar(image, cut, len(change), noise)


def _map(measurement: Measurement, body: Domain) -> tuple[Waves, float | None]:
    """What Λ_σ0⁻¹ - … of the readings is in waves cos kθ, sin kθ, … of the circle, for σ0 = 1; and their noise."""
    most = min(_MOST, 2 * (measurement.electrodes.count // 2))
    prepared = measurement.prepare(CurrentsConfig("arclength", most), _FEWEST, body)
    count = len(prepared.difference) // 2 * 2
    waves = arclength(body, count)
    neumann = body.boundary_weight * prepared.difference[:count] @ waves.mT
    turned = _circle_waves(body, count) @ waves.mT * body.boundary_weight
    neumann = turned @ (neumann + neumann.mT) @ turned.mT / 2
    order = torch.arange(1, count // 2 + 1, dtype=torch.float64).repeat_interleave(2)
    empty = torch.diag(1 / order)
    return torch.linalg.inv(empty + neumann) - torch.diag(order), prepared.noise


def _circle_waves(body: Domain, count: int) -> Float64[Tensor, "waves boundary"]:
    """The waves of unit length on the circle, as densities on the boundary of the body."""
    image = body.conformal_map(body.boundary())
    order = torch.arange(1, count // 2 + 1, dtype=torch.float64)[:, None]
    phase, speed = order * image.value.angle(), image.first.abs()
    waves = torch.stack([phase.cos(), phase.sin()], 1).flatten(0, 1)
    return waves * speed / math.sqrt(math.pi)


def _modes(change: Waves) -> Complex128[Tensor, "modes modes"]:
    """The map between e^{inθ}, n = -N … N, from that between waves."""
    top = len(change) // 2
    e = torch.zeros(2 * top, 2 * top + 1, dtype=torch.complex128)
    for n in range(1, top + 1):
        e[2 * n - 2, top + n] = e[2 * n - 2, top - n] = 1
        e[2 * n - 1, top + n], e[2 * n - 1, top - n] = 1j, -1j
    return e.mH @ change.to(e.dtype) @ e / 2


def _cut_off(change: Waves, noise: float | None, traces: Traces) -> float:
    """The largest R up to which t on |k| = R stands above its noise.

    Errors of size ε in all entries of the Neumann-to-Dirichlet map are nearly m n ε in Λ_σ, and with ψ = e^{ikz} they
    make an error of t whose mean square is (2π ε Σ_n n² |k|^{2n} / (n!)²)².
    """
    if noise is None:
        raise InputError("dbar: the data do not tell their noise: give it (tau), or a cut-off (radius)")
    top = len(change) // 2
    order = torch.arange(1, top + 1, dtype=torch.float64)
    weight = 1 / order.repeat_interleave(2)
    size = float((weight[:, None] * change * weight).norm()) / len(change)
    radii = torch.linspace(0, min(_LARGEST, top), _RADII + 1, dtype=torch.float64)[1:]
    turn = torch.arange(8, dtype=torch.float64) * (math.pi / 4)
    t = scattering(_modes(change), torch.polar(radii[:, None], turn).flatten(), traces).view(_RADII, -1)
    log_term = 2 * (order * radii[:, None].log() - torch.lgamma(order + 1)) + 2 * order.log()
    error = 2 * math.pi * noise * size * log_term.exp().sum(1)
    above = error <= _NOISE * t.abs().square().mean(1).sqrt()
    return float(radii[max(int(above.to(torch.int64).cumprod(0).sum()) - 1, 0)])
