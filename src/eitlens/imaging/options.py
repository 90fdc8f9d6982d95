"""Options of how an image is made; a method takes what it needs of them and refuses what it has no use for."""

import math
from dataclasses import dataclass

from eitlens import checks
from eitlens.errors import InputError
from eitlens.posterior.sampler.sampler import Progress


@dataclass(frozen=True)
class Options:
    """The wishes of a user.

    Attributes:
        model: name or folder of the network; the shipped default for None.
        refine: at most so many steps of fine-tuning through the forward solver.
        tau: the noise level where it is known.
        n: cells a side of the image; the method's own when left out.
        device: cpu, cuda or auto.
        seconds: how long a sampler may take; its own choice when left out.
        workers: processes for it on a CPU (see `posterior.sample`).
        progress: told how far a slow method is.
        strength: of the regularisation, in the method's own units; chosen from the data when left out.
        steps: at most so many steps of an iterative method; its own choice when left out.
        symmetries: whether a network's image is the mean over the mirror images of the body.
    """

    model: str | None = None
    refine: int = 0
    tau: float | None = None
    n: int | None = None
    device: str = "cpu"
    seconds: float | None = None
    workers: int = 1
    progress: Progress | None = None
    strength: float | None = None
    steps: int | None = None
    symmetries: bool = False

    def __post_init__(self) -> None:
        check(self.refine, self.tau, self.n)
        if self.strength is not None:
            checks.positive_number(self.strength, "strength")
        if self.steps is not None and checks.whole(self.steps, "steps") < 1:
            raise InputError(f"steps: expected at least 1, got {self.steps}")

    def only(self, method: str, *taken: str) -> None:
        """Refuse a wish that a method has no use for: ignored in silence, it would mislead.

        >>> eit.imaging.Options(steps=5).only("dsm")
        Traceback (most recent call last):
        eitlens.errors.InputError: dsm: it takes no steps of its own: leave out --steps
        """
        for name, reason in _REASONS.items():
            if name not in taken and getattr(self, name) not in (None, 0):
                raise InputError(f"{method}: {reason}: leave out --{name}")


_REASONS = {
    "model": "it has no network to choose",
    "refine": "its image cannot be refined",
    "seconds": "it takes the time it needs",
    "strength": "it has no regularisation to choose",
    "steps": "it takes no steps of its own",
    "symmetries": "it has no use for mirror images",
}
"""Why a method may have no use for a wish."""


def check(refine: int, tau: float | None, n: int | None) -> None:
    """Refuse what cannot be meant."""
    if checks.whole(refine, "refine") < 0:
        raise InputError(f"refine: expected at least 0 steps, got {refine}")
    if tau is not None and not 0 <= checks.number(tau, "tau") < math.inf:
        raise InputError(f"tau: expected a noise level of 0 or more, got {tau}")
    if n is not None and checks.size(n, "n") < 2:
        raise InputError(f"n: expected an image of at least 2 cells a side, got {n}")
