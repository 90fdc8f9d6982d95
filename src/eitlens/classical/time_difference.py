"""Difference images asked for as pyEIT does: an object with `setup(...)` and `solve(v1, v0)`."""

from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float64

from eitlens import checks
from eitlens.classical.frame_product import FrameProduct, Images
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
PRECISIONS = ("float32", "float64")
_WEAKEST = 1e-9  # of the largest reading of v0: smaller ones have no relative change


Frames = Float64[np.ndarray, "..."]
"""One frame (readings,) or many (frames, readings)."""


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
        self._count = self.pattern.count
        self.fitted: LinearImage | None = None
        """The matrix, once something was solved."""
        self._products: dict[bool, FrameProduct] = {}
        self._baseline = np.zeros(0)
        self.setup()

    def setup(
        self,
        method: str = "kotre",
        p: float = 0.5,
        lamb: float | None = None,
        n: int = 32,
        precision: str = "float32",
    ) -> None:
        """Choose how to image.

        Args:
            method: pyEIT's `kotre` (NOSER with the exponent p), `lm` (with exponent 1) and `dgn` (Tikhonov); `noser`,
                `tikhonov`, `laplace` and `gaussian` (`LinearImage.fit`); or `greit`.
            p: the exponent of `kotre`: 0 is Tikhonov.
            lamb: the strength, λ over the largest s (see `LinearImage`); chosen from the data where left out.
            n: cells a side of the image.
            precision: of the images: `float32`, or `float64` for exact data and strengths far below the noise.
        """
        checks.choose("method", method, METHODS)
        checks.choose("precision", precision, PRECISIONS)
        checks.number(p, "p")
        self._method, self._n, self._precision = method, checks.whole(n, "n"), precision
        self._lamb = None if lamb is None else checks.positive_number(lamb, "lamb")
        self._power = p
        self.fitted, self._known, self._products = None, b"", {}

    def solve(self, v1: Any, v0: Any, normalize: bool = False) -> Images:
        """Image the change from the reference v0 (R) to v1, (R) or (F, R).

        With `normalize` the relative change of each reading counts, as if the tank had read what the model does: errors
        of gain and of the model that are the same in both then cancel.
        """
        frames, reference = _numbers(v1, "v1"), _numbers(v0, "v0")
        table = np.atleast_2d(frames)
        image = self._for(table, reference)
        if table.ndim != 2 or table.shape[1] != self._count:
            raise InputError(
                f"v1: expected (R) or (F, R), R = {self._count} readings, got shape {frames.shape}"
            )
        chooses = self._lamb is None and self._method != _GREIT
        product = self._product(image, normalize, table) if chooses else self._kept(image, normalize)
        found: Images = product(table)
        return found[0] if frames.ndim == 1 else found

    def _for(self, frames: Frames, reference: Frames) -> LinearImage:
        """The matrix for the reference, made anew where it is another."""
        known = reference.tobytes()
        if self.fitted is None or known != self._known:
            data = ElectrodeMeasurement(
                self.electrodes,
                self.pattern,
                torch.from_numpy(frames),
                torch.from_numpy(reference),
                height=self.height,
            )
            self.fitted, self._known, self._products = self._fit(data), known, {}
            self._baseline = np.zeros(0) if data.baseline is None else data.baseline.numpy()
        return self.fitted

    def _fit(self, data: ElectrodeMeasurement) -> LinearImage:
        if self._method != _GREIT:
            return LinearImage.fit(data, self._prior(), self._lamb or "gcv")
        image = fit_greit(data)
        return image if self._lamb is None else image.chosen(data.difference, self._lamb)

    def _kept(self, image: LinearImage, normalize: bool) -> FrameProduct:
        """The product with the strength that is given, made once."""
        if normalize not in self._products:
            self._products[normalize] = self._product(image, normalize)
        return self._products[normalize]

    def _product(self, image: LinearImage, normalize: bool, frames: Frames | None = None) -> FrameProduct:
        """The product, with the strength that some frames choose where they are given."""
        weight = _relative(self._baseline, image.tank.readings.numpy()) if normalize else None
        if frames is not None:
            change = frames - self._baseline
            image = image.chosen(change if weight is None else change * weight)
        return FrameProduct.of(image, self._baseline, self._n, self._precision, weight)

    def _prior(self) -> str | Prior:
        powers = {"kotre": self._power, "lm": 1.0, "dgn": 0.0}
        return partial(noser, power=powers[self._method]) if self._method in powers else self._method


def _numbers(values: Any, name: str) -> Frames:
    """Real numbers as an array of float64, the array itself where it is one."""
    if isinstance(values, np.ndarray) and values.dtype == np.float64:
        return values
    found: Frames = checks.physics(values, name).detach().cpu().numpy()
    return found


def _pattern(protocol: Any, electrodes: int, current: float) -> Pattern:
    if isinstance(protocol, Pattern):
        return protocol
    if not (hasattr(protocol, "ex_mat") and hasattr(protocol, "meas_mat")):
        raise InputError(
            f"protocol: expected a Pattern, or pyEIT's with ex_mat and meas_mat, got {checks.shown(protocol)}"
        )
    return from_pyeit(protocol.ex_mat, protocol.meas_mat, electrodes, current)


def _relative(reference: Frames, model: Frames) -> Float64[np.ndarray, "readings"]:
    """The factors with which changes of readings are what the model's would have changed by in the same proportion."""
    if bool((np.abs(reference) < _WEAKEST * np.nanmax(np.abs(reference))).any()):
        raise InputError("normalize: some readings of v0 are zero and have no relative change: leave it out")
    weight: Frames = model / reference
    return weight
