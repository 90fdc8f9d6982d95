"""A measurement as a device would give it, from simulated boundary data."""

import torch

from eitlens.domain import Domain, boundary
from eitlens.forward import add_noise
from eitlens.forward.base import Currents, Data
from eitlens.measure.measurement import Measurement


def measured(
    domain: Domain, currents: Currents, difference: Data, outside: float, tau: float, seed: int, points: int
) -> Measurement:
    """Voltages as a device would give them: at the nodes, or at `points` even places, with noise on f - f0."""
    reference = domain.background(currents) / outside
    if points == 0:
        noisy = reference + add_noise(difference, tau, seed)
        return Measurement(domain.boundary(), currents, noisy, reference, None, outside, domain)
    s = (torch.arange(points, dtype=torch.float64) + 0.5) * (domain.perimeter / points)
    place, g, f0, change = (
        boundary.from_nodes(values, s, domain)
        for values in (domain.boundary().T, currents, reference, difference)
    )
    return Measurement(place.T, g, f0 + add_noise(change, tau, seed), f0, None, outside, domain)
