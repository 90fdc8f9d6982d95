"""Linear images: a change of conductivity from a change of readings by one product with a matrix.

To first order the readings of a tank change by y = J x + n, x = δσ with a Gaussian prior of covariance Γ/λ, n Gaussian
of covariance C: noise and nuisances. The estimate and its covariance are

    x̂ = Γ Jᵀ (J Γ Jᵀ + λ C)⁻¹ y,        (Γ - Γ Jᵀ (J Γ Jᵀ + λ C)⁻¹ J Γ) / λ.

With C = S Sᵀ and S⁻¹ J Γ Jᵀ S⁻ᵀ = U diag(s) Uᵀ, all strengths λ share one decomposition, made once for a tank.

Caveat: linear in δσ, so strong inclusions come out too weak, and large ones too large.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from eitlens import checks
from eitlens.classical import strength as strengths
from eitlens.classical.linear_tank import LinearTank, tank_of
from eitlens.classical.priors import PRIORS, Prior
from eitlens.classical.reading_errors import Nuisance, ReadingNoise
from eitlens.domain import Domain
from eitlens.errors import InputError
from eitlens.measure.readings import ElectrodeMeasurement

Numbers = Any  # a tensor, an array or nested lists of numbers
Differences = Float64[Tensor, "frames readings"]
Images = Float64[Tensor, "frames nx ny"]

_EXACT = 1e-12  # of the largest s: what is smaller is rounding


@dataclass(frozen=True, eq=False)
class LinearImage:
    """A matrix from readings to an image of δσ in S/m, made once for a tank: thousands of frames a second.

    `LinearImage.fit(measurement)` makes one. Called with differences of readings (F, R) it returns images (F, n+1,
    n+1) on the grid of the body. Where the strength is chosen by a rule, `chosen(differences)` chooses it for other
    data. `deviation` is the posterior standard deviation of each value.

    Attributes:
        tank: the uniform tank and its derivatives.
        present: the readings that are used.
        white: Uᵀ S⁻¹, from readings to whitened coordinates.
        spectrum: s, what the prior expects of each of them, in units of the noise.
        back: Γ Jᵀ S⁻ᵀ U, from whitened coordinates to the unknown nodes.
        spread: the diagonal of Γ; None where the image is no posterior mean.
        scale: root mean square of the white noise, in volts, that one unit of a whitened coordinate stands for.
        strength: λ; `factor` is λ over the largest s.
        level: what the image leaves unexplained, noise and errors of the model, over what `scale` says of the noise.
        noise: of a reading over the root mean square of all readings of the empty tank, as the data had it.

    >>> tank = eit.Disk(40, scale=0.1)
    >>> electrodes, pattern = eit.Electrodes.even(tank, 16), eit.Pattern.named("adjacent", 16, current=1e-3)
    >>> bodies = [eit.Phantom([eit.circle((0.4, 0.2), 0.2)], 0.5, outside=0.3), eit.Phantom([], outside=0.3)]
    >>> volts = eit.simulate_readings(electrodes, pattern, bodies)
    >>> data = eit.Measurement.of_electrodes(electrodes, pattern, volts[0], reference=volts[1])
    >>> see = eit.LinearImage.fit(data, prior="laplace")
    >>> image = see(data.difference)[0]
    >>> place = see.domain.nodes()[image == image.max()][0]
    >>> bool((place - torch.tensor([0.4, 0.2])).norm() < 0.1)
    True
    """

    tank: LinearTank
    present: Bool[Tensor, "readings"]
    white: Float64[Tensor, "directions present"]
    spectrum: Float64[Tensor, "directions"]
    back: Float64[Tensor, "unknowns directions"]
    spread: Float64[Tensor, "unknowns"] | None
    scale: float
    strength: float = 0.0
    level: float = 1.0
    noise: float = 0.0

    @staticmethod
    def fit(
        measurement: ElectrodeMeasurement,
        prior: str | Prior = "laplace",
        strength: str | float = "gcv",
        nuisance: Nuisance | None = None,
        noise: ReadingNoise | None = None,
    ) -> "LinearImage":
        """Make the matrix for the tank of a measurement, with the strength that suits its frames.

        Args:
            measurement: readings of electrodes; without a reference they are compared with the uniform tank.
            prior: `tikhonov`, `noser`, `laplace`, `gaussian`, or a function of the tank that returns a covariance.
            strength: `gcv`, `discrepancy`, `l-curve`, or a number: λ over the largest s.
            nuisance: what else may have changed.
            noise: of the readings, where there are too few reference frames to tell it.
        """
        tank = tank_of(measurement)
        covariance = (PRIORS[prior] if isinstance(prior, str) else prior)(tank)
        cross = covariance @ tank.jacobian.mT
        errors = noise or ReadingNoise(), nuisance or Nuisance()
        image = decomposed(tank, measurement, tank.jacobian @ cross, cross, *errors)
        found = replace(image, spread=covariance.diagonal())
        return found.chosen(found.differences(measurement), strength)

    @property
    def domain(self) -> Domain:
        """The body with the grid of the images."""
        return self.tank.grid

    @property
    def factor(self) -> float:
        """The strength λ over the largest s: what `fit` takes."""
        return self.strength / float(self.spectrum.max())

    @cached_property
    def matrix(self) -> Float64[Tensor, "unknowns present"]:
        """The image at the unknown nodes from the readings that are present."""
        return (self.back / (self.spectrum + self.strength)) @ self.white

    def differences(self, measurement: ElectrodeMeasurement) -> Differences:
        """What changed from the reference, or from the uniform tank where there is none."""
        base = measurement.baseline
        return measurement.voltages - (self.tank.readings if base is None else base)

    def chosen(self, differences: Numbers, strength: str | float = "gcv") -> "LinearImage":
        """The same with the strength that a rule chooses for some frames, or with a given one."""
        data = self._present(differences) @ self.white.mT
        if isinstance(strength, str):
            checks.choose("strength", strength, tuple(strengths.RULES))
            size = strengths.chosen(strength, self.spectrum, data, self._doubt(differences))
        else:
            size = checks.positive_number(strength, "strength") * float(self.spectrum.max())
        at = torch.tensor([size], dtype=torch.float64, device=data.device)
        rest = strengths.residuals(self.spectrum, data, at)
        free = (1 - strengths.kept(self.spectrum, at)).sum(-1)
        level = float((rest / free).sqrt())
        told = strengths.noise(self.spectrum, data)
        unit = self.scale / float(self.tank.readings.square().mean().sqrt())
        return replace(self, strength=size, level=level, noise=(level if told is None else told) * unit)

    def __call__(self, differences: Numbers, n: int | None = None) -> Images:
        """Images of δσ, 0 outside the body, on a grid of n cells a side; of the tank's own where left out."""
        data, size = self._present(differences), n or self.tank.model.cells
        if size > self.tank.model.cells:  # a matrix for each node of a fine grid would fill the memory
            return self.tank.image(data @ self.matrix.mT, n)
        return torch.unflatten(data @ self.onto(size), 1, (size + 1, size + 1))

    def deviation(self, n: int | None = None) -> Float64[Tensor, "nx ny"] | None:
        """The posterior standard deviation of δσ in S/m, the noise as large as the data had it."""
        if self.spread is None:
            return None
        told = (self.back.square() / (self.spectrum + self.strength)).sum(1)
        variance = (self.spread - told).clamp(min=0) * (self.level**2 / self.strength)
        return self.tank.image(variance.sqrt()[None], n)[0]

    def to(self, device: torch.device | str) -> "LinearImage":
        """The same on a device: frames there are imaged there."""
        names = ("present", "white", "spectrum", "back", "spread")
        moved = {name: part.to(device) for name in names if (part := getattr(self, name)) is not None}
        return replace(self, **moved)

    def onto(self, n: int) -> Float64[Tensor, "present nodes"]:
        """The matrix from readings to all nodes of a grid, remembered for the last one."""
        if n not in self._onto_grid:
            self._onto_grid.clear()
            self._onto_grid[n] = self.tank.image(self.matrix.mT.contiguous(), n).flatten(1).contiguous()
        return self._onto_grid[n]

    def _doubt(self, differences: Numbers) -> float:
        """The part of these changes that the linear model cannot explain."""
        change = self._present(differences).square().mean().sqrt()
        readings = self.tank.readings[self.present.cpu()].square().mean().sqrt()
        return strengths.doubt(float(change) / float(readings), self.tank.misfit)

    @cached_property
    def _onto_grid(self) -> dict[int, Tensor]:
        return {}

    def _present(self, differences: Numbers) -> Float64[Tensor, "frames present"]:
        given = checks.physics(differences, "differences")
        if given.ndim != 2 or given.shape[1] != len(self.present):
            raise InputError(
                f"differences: expected (frames, {len(self.present)}) readings, got shape {tuple(given.shape)}"
            )
        there = given.to(self.white.device)
        return checks.finite(there if bool(self.present.all()) else there[:, self.present], "differences")


def decomposed(
    tank: LinearTank,
    measurement: ElectrodeMeasurement,
    auto: Float64[Tensor, "readings readings"],
    cross: Float64[Tensor, "unknowns readings"],
    noise: ReadingNoise,
    nuisance: Nuisance,
) -> LinearImage:
    """The estimator of x from y for the covariances `auto` of y without errors, and `cross` of x and y."""
    present = measurement.present
    if not bool(present.any()):
        raise InputError("readings: none is there in all frames and in the reference")
    variances = noise.variances(measurement, tank)[present]
    moved = nuisance.directions(tank)[present]
    root = torch.linalg.cholesky(torch.diag(variances) + moved @ moved.mT)

    def whitened(columns: Tensor) -> Tensor:
        found: Tensor = torch.linalg.solve_triangular(root, columns, upper=False)
        return found

    spectrum, vectors = torch.linalg.eigh(whitened(whitened(auto[present][:, present]).mT))
    white = whitened(torch.eye(len(root), dtype=root.dtype)).mT @ vectors
    back = cross[:, present] @ white
    keep = spectrum.clamp(min=_EXACT * float(spectrum.max()))
    scale = float(variances.mean().sqrt())
    return LinearImage(tank, present, white.mT.contiguous(), keep, back, None, scale)


def linear_image(
    measurement: ElectrodeMeasurement, prior: str | Prior = "laplace", strength: str | float = "gcv"
) -> Images:
    """Image every frame of a measurement of electrodes: δσ in S/m, (F, n+1, n+1), 0 outside the body.

    See `LinearImage.fit` for the priors and rules, and for more frames of the same tank.

    >>> tank = eit.Disk(40, scale=0.1)
    >>> electrodes, pattern = eit.Electrodes.even(tank, 16), eit.Pattern.named("adjacent", 16, current=1e-3)
    >>> bodies = [eit.Phantom([eit.circle((0.4, 0.2), 0.2)], 0.1, outside=0.3), eit.Phantom([], outside=0.3)]
    >>> volts = eit.simulate_readings(electrodes, pattern, bodies)
    >>> data = eit.Measurement.of_electrodes(electrodes, pattern, volts[:1], reference=volts[1:])
    >>> image = eit.linear_image(data, prior="noser")[0]
    >>> image.shape, bool(image.sum() < 0)
    (torch.Size([41, 41]), True)
    """
    see = LinearImage.fit(measurement, prior, strength)
    return see(see.differences(measurement))
