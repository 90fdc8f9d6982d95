"""An image with what is known about it: its uncertainty, its misfit, its warnings."""

from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from eitlens.domain import Domain
from eitlens.evaluate.images import Quantity, dice, foreground
from eitlens.imaging.misfit import on_grid
from eitlens.measure.base import Flag
from eitlens.phantom import Phantom, indicator

Image = Float64[Tensor, "nx ny"]


@dataclass(frozen=True)
class Refinement:
    """The work of the physics-based fine-tuning; `steps` is 0 when the network's image was kept.

    `contrast` is what the data would rather have than the contrast of training, to first order; None where they
    do not ask for another.
    """

    steps: int
    misfit_before: float
    misfit_after: float
    reason: str
    contrast: float | None = None


@dataclass(frozen=True, eq=False)
class Phases:
    """What a network of classes says of each node.

    Attributes:
        probabilities: of the background, a resistive and a conductive object.
        log_sigma, deviation: mean and standard deviation of log σ, σ over that of the background.
    """

    probabilities: Float64[Tensor, "three nx ny"]
    log_sigma: Image
    deviation: Image

    def on_grid(self, cells: int) -> "Phases":
        """The same on the nodes of another grid."""
        probabilities = torch.stack([on_grid(one, cells) for one in self.probabilities])
        return Phases(probabilities, on_grid(self.log_sigma, cells), on_grid(self.deviation, cells))

    @property
    def sign(self) -> Image:
        """The probability of a conductive object less that of a resistive one."""
        return self.probabilities[2] - self.probabilities[1]

    @property
    def spread(self) -> Image:
        """The standard deviation of the sign."""
        something = self.probabilities[1] + self.probabilities[2]
        return (something - self.sign.square()).clamp(min=0).sqrt()

    @property
    def classes(self) -> Int64[Tensor, "nx ny"]:
        """The likeliest: 0 the background, 1 resistive, 2 conductive."""
        return self.probabilities.argmax(0)


@dataclass(frozen=True)
class Reconstruction:
    """An image of the inclusion with what is known about it.

    Attributes:
        image: (n+1, n+1), indexed [i, j] with x = -1 + i h, y = -1 + j h. Of a network: the calibrated probability
            that the node lies inside. Of direct sampling: its index, scaled to a largest value of 1. Of other methods
            what `quantity` says.
        uncertainty: the standard deviation of each value: √(p (1 - p)) of a probability; None where it is not known.
        domain: the body, with the grid of the image; outside it the image is 0.
        noise: estimated noise level τ of the data; None where there are too few points to tell.
        misfit: |F(image) - data| / |data|, F the forward solver; None when it was not asked for.
        warnings: what is doubtful.
        method, model: how the image was made.
        seconds: how long it took, from the measurement to the arrays.
        refinement: what `refine` did; None when it was not asked for.
        quantity: probability, index, conductivity, change or sign: see `Quantity`.
        phases: of a network of classes, the probabilities of its classes and log σ; None otherwise.

    >>> image = eit.indicator(eit.Square(200), eit.Phantom([eit.circle((0.0, 0.0), 0.5)])).double()
    >>> found = eit.Reconstruction(image, 0 * image, eit.Square(200), None, None, (), "mine", "", 0.0)
    >>> round(found.area, 3)  # of the body
    0.194
    """

    image: Image = field(repr=False)
    uncertainty: Image | None = field(repr=False)
    domain: Domain
    noise: float | None
    misfit: float | None
    warnings: tuple[Flag, ...]
    method: str
    model: str
    seconds: float
    refinement: Refinement | None = None
    quantity: Quantity = "probability"
    phases: Phases | None = field(default=None, repr=False)

    @property
    def inside(self) -> Tensor:
        """The nodes where the image shows something: an object is likeliest, or see `eitlens.evaluate.images`."""
        if self.phases is not None:
            return (self.phases.classes > 0) & self.domain.inside()
        return foreground(self.image, self.quantity, self.domain)

    @property
    def arrays(self) -> dict[str, Tensor]:
        """The image, and whatever else is known of each node, by name; x and y of the nodes in metres."""
        known = {"image": self.image, "uncertainty": self.uncertainty}
        if self.phases is not None:
            known |= vars(self.phases)
        known |= self.domain.axes()
        return {name: values for name, values in known.items() if values is not None}

    @property
    def area(self) -> float | None:
        """The share of the body's nodes that are taken to be inside; None where the image is no probability."""
        share = self.inside[self.domain.inside()].double().mean()
        return float(share) if self.quantity in ("probability", "sign") else None

    def dice(self, phantom: Phantom) -> float:
        """The overlap with a known body: 2 |P ∩ T| / (|P| + |T|), P the nodes of `inside`, T those in its shapes."""
        return dice(self.inside, indicator(self.domain, phantom))

    def summary(self) -> dict[str, Any]:
        """All but the arrays, as plain JSON values."""
        change = self.refinement
        return {
            "method": self.method,
            "quantity": self.quantity,
            "model": self.model,
            "domain": self.domain.name,
            "n": self.image.shape[0] - 1,
            "area": self.area,
            "noise": self.noise,
            "misfit": self.misfit,
            "uncertainty": None if self.uncertainty is None else float(self.uncertainty.mean()),
            "warnings": [{"kind": flag.kind, "text": flag.text} for flag in self.warnings],
            "refinement": None if change is None else vars(change).copy(),
            "seconds": self.seconds,
        }
