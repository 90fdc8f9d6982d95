"""Difference images asked for as pyEIT does: an object with `setup(...)` and `solve(v1, v0)`."""

from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens import checks
from eitlens.classical.greit import fit_greit
from eitlens.classical.linear import LinearImage
from eitlens.classical.priors import PRIORS, Prior, noser
from eitlens.electrodes import Electrodes, Pattern
from eitlens.electrodes.protocols import from_pyeit
from eitlens.errors import InputError
from eitlens.measure.readings import ElectrodeMeasurement

_GREIT = "greit"
METHODS = ("kotre", "lm", "dgn", *PRIORS, _GREIT)
"""The names of pyEIT's regularisations, of our priors, and GREIT."""
_WEAKEST = 1e-9  # of the largest reading of v0: smaller ones have no relative change


class TimeDifference:
    """Images of what changed between two times, with the words of pyEIT.

    `protocol` is pyEIT's: an object with `ex_mat` and `meas_mat`; or a `Pattern`. `setup` chooses the method and
    `solve(v1, v0)` images: an array (n+1, n+1) for one frame v1 (R), (F, n+1, n+1) for frames (F, R), indexed [i, j]
    with x along i and y along j, δσ in S/m (σ0 in units of current over voltage, where the current is not given).

    The electrodes of pyEIT's disk begin at the left and run clockwise, as in the example.

    >>> electrodes = eit.Electrodes.even(eit.Disk(32), 16, first=torch.pi, clockwise=True)
    >>> pattern = eit.Pattern.named("adjacent", 16)
    >>> bodies = [eit.Phantom([eit.circle((0.4, 0.2), 0.2)], 2.0), eit.Phantom([])]
    >>> v1, v0 = eit.simulate_readings(electrodes, pattern, bodies).numpy()
    >>> imaging = eit.TimeDifference(electrodes, pattern)
    >>> imaging.setup(method="kotre", p=0.5, lamb=1e-3, n=32)
    >>> imaging.solve(v1, v0).shape
    (33, 33)
    """

    def __init__(
        self, electrodes: Electrodes, protocol: Any, current: float = 1.0, height: float = 1.0
    ) -> None:
        self.electrodes, self.height = electrodes, height
        self.pattern = _pattern(protocol, electrodes.count, current)
        self.fitted: LinearImage | None = None
        """The matrix, once something was solved."""
        self._reference = torch.zeros(0)
        self.setup()

    def setup(self, method: str = "kotre", p: float = 0.5, lamb: float | None = None, n: int = 32) -> None:
        """Choose how to image.

        Args:
            method: pyEIT's `kotre` (NOSER with the exponent p), `lm` (with exponent 1) and `dgn` (Tikhonov); `noser`,
                `tikhonov`, `laplace` and `gaussian` (`LinearImage.fit`); or `greit`.
            p: the exponent of `kotre`: 0 is Tikhonov.
            lamb: the strength, λ over the largest s (see `LinearImage`); chosen from the data where left out.
            n: cells a side of the image.
        """
        checks.choose("method", method, METHODS)
        checks.number(p, "p")
        self._method, self._n = method, checks.whole(n, "n")
        self._lamb = None if lamb is None else checks.positive_number(lamb, "lamb")
        self._power = p
        self.fitted = None

    def solve(self, v1: Any, v0: Any, normalize: bool = False) -> Float64[np.ndarray, "*frames nx ny"]:
        """Image the change from the reference v0 (R) to v1, (R) or (F, R).

        With `normalize` the relative change of each reading counts, as if the tank had read what the model does: errors
        of gain and of the model that are the same in both then cancel.
        """
        frames, reference = checks.physics(v1, "v1"), checks.physics(v0, "v0")
        data = ElectrodeMeasurement(self.electrodes, self.pattern, frames, reference, height=self.height)
        image = self._for(data)
        change = data.difference
        if normalize:
            change = _normalised(change, reference.reshape(-1), image.tank.readings)
        if self._lamb is None and self._method != _GREIT:
            image = image.chosen(change)
        found = image(change, self._n).numpy()
        return found[0] if frames.ndim == 1 else found

    def _for(self, data: ElectrodeMeasurement) -> LinearImage:
        """The matrix for the reference, made anew where it is another."""
        reference = data.voltages.new_tensor([]) if data.reference is None else data.reference
        if self.fitted is None or not torch.equal(reference, self._reference):
            if self._method == _GREIT:
                image = fit_greit(data)
                self.fitted = image if self._lamb is None else image.chosen(data.difference, self._lamb)
            else:
                self.fitted = LinearImage.fit(data, self._prior(), self._lamb or "gcv")
            self._reference = reference
        return self.fitted

    def _prior(self) -> str | Prior:
        powers = {"kotre": self._power, "lm": 1.0, "dgn": 0.0}
        return partial(noser, power=powers[self._method]) if self._method in powers else self._method


def _pattern(protocol: Any, electrodes: int, current: float) -> Pattern:
    if isinstance(protocol, Pattern):
        return protocol
    if not (hasattr(protocol, "ex_mat") and hasattr(protocol, "meas_mat")):
        raise InputError(
            f"protocol: expected a Pattern, or pyEIT's with ex_mat and meas_mat, got {checks.shown(protocol)}"
        )
    return from_pyeit(protocol.ex_mat, protocol.meas_mat, electrodes, current)


def _normalised(change: Tensor, reference: Tensor, model: Tensor) -> Tensor:
    """What the model's readings would have changed by in the same proportion."""
    if bool((reference.abs() < _WEAKEST * reference.abs().max()).any()):
        raise InputError("normalize: some readings of v0 are zero and have no relative change: leave it out")
    return change / reference * model
