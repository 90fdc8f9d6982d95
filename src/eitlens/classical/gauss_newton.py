"""Gauss-Newton images: the σ of a tank that explains its readings through the complete electrode model.

log σ is a smooth Gaussian field of the covariance s² (1 + d/ℓ) exp(-d/ℓ) over distances d: σ is positive, conductors
and insulators of the same ratio are as likely, and where the readings tell nothing it stays that of the background. The
background and the contact impedances are fitted along. With a reference these may change by a few parts in a hundred,
which is the drift of a tank; without one they are found.

References: M. Cheney, D. Isaacson, J. Newell, "Electrical impedance tomography", SIAM Review 41 (1999); J. Kaipio,
E. Somersalo, "Statistical and Computational Inverse Problems" (2005), 5.8, for the priors and errors.
"""

import math
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens import checks
from eitlens.classical.newton import Deviations, Estimate, Progress, TankProblem, gauss_newton_steps
from eitlens.classical.tank_frame import TankFrame
from eitlens.classical.tank_model import TankModel

DRIFT = Deviations(background=0.1, contact=0.1)
"""Since a reference: water warms by some degrees, contacts age."""
_ELECTRODES = 32  # that the usual length of the prior is for
UNKNOWN = Deviations(background=2.0, contact=1.5)
"""Without a reference: known to an order of magnitude."""


@dataclass(frozen=True)
class SmoothPrior:
    """What log σ is expected to be: its standard deviation, and over which distance it changes, in the body's units."""

    contrast: float = 1.5
    length: float = 0.2

    @staticmethod
    def of(model: TankModel) -> "SmoothPrior":
        """With a length that so many electrodes resolve: 0.2 for 32, 0.28 for 16."""
        own = SmoothPrior()
        return replace(own, length=own.length * math.sqrt(_ELECTRODES / model.electrodes.count))

    def __post_init__(self) -> None:
        for name in ("contrast", "length"):
            checks.positive_number(getattr(self, name), f"prior: {name}")

    def covariance(self, model: TankModel) -> Float64[Tensor, "unknowns unknowns"]:
        """Of the values at the nodes of the lattice."""
        place = model.lattice.nodes
        far = torch.cdist(place, place) / self.length
        return self.contrast**2 * (1 + far) * (-far).exp()


@dataclass(frozen=True, eq=False)
class TankImage:
    """The conductivity of a tank that a method found, at the nodes of the lattice.

    Attributes:
        frame: what was to be explained.
        sigma: σ in S/m.
        background: σ of what is no inclusion, which most of the body is: the median of σ.
        impedance: of the contacts, in Ω m².
        deviation: the standard deviation of log σ; None where it is not known.
        misfits: mean squares of errors over standard deviations, before and after each step: 1 is the noise level.
        readings: of the model, for σ.
    """

    frame: TankFrame
    sigma: Float64[Tensor, "unknowns"]
    background: float
    impedance: Float64[Tensor, "electrodes"]
    deviation: Float64[Tensor, "unknowns"] | None
    misfits: tuple[float, ...]
    readings: Float64[Tensor, "readings"]

    @property
    def contrast(self) -> Float64[Tensor, "unknowns"]:
        """The logarithm of σ over the background."""
        return (self.sigma / self.background).log()


def image_of(problem: TankProblem, found: Estimate) -> TankImage:
    """The image that unknowns mean."""
    sigma, impedance = problem.sigma(found.x), problem.impedance(found.x)
    field, deviation = problem.split(found.x)[0], None
    if found.deviation is not None:
        deviation = problem.split(found.deviation)[0] * problem.pointwise(field)[1].abs()
    readings = problem.frame.model.readings(sigma, impedance)
    return TankImage(
        problem.frame, sigma, float(sigma.median()), impedance, deviation, found.misfits, readings
    )


def identity(field: Tensor) -> tuple[Tensor, Tensor]:
    """The field itself, and its derivative."""
    return field, torch.ones_like(field)


def others(frame: TankFrame) -> Deviations:
    """What besides the field is free."""
    return DRIFT if frame.difference else UNKNOWN


def gauss_newton_image(
    frame: TankFrame,
    prior: SmoothPrior | None = None,
    steps: int = 10,
    target: float = 1.0,
    progress: Progress | None = None,
    uncertainty: bool = True,
) -> TankImage:
    """The image after at most so many steps, fewer where the misfit reaches `target`, the noise level.

    Without `uncertainty` there is no standard deviation, which costs as much as a step.
    """
    problem = TankProblem(frame, identity)
    field = (prior or SmoothPrior.of(frame.model)).covariance(frame.model)
    everything = problem.covariance(field, others(frame))
    found = gauss_newton_steps(
        problem, everything, steps, target=target, progress=progress, uncertainty=uncertainty
    )
    return image_of(problem, found)


def first_image(
    frame: TankFrame, steps: int, target: float = 1.0, progress: Progress | None = None
) -> TankImage:
    """Where methods of edges and classes begin: an image with the length of 32 electrodes, however many there are.

    It is sharper than `gauss_newton_image` for fewer electrodes, and has more ripples, which those methods take away.
    """
    return gauss_newton_image(frame, SmoothPrior(), steps, target, progress, uncertainty=False)
