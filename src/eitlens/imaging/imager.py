"""From a measurement to an image with its uncertainty, its misfit and its doubts."""

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens import weights
from eitlens.device import pick_device
from eitlens.errors import InputError, naming
from eitlens.forward.base import Data
from eitlens.forward.currents import CurrentsConfig
from eitlens.imaging import options, readers
from eitlens.imaging import warnings as flags
from eitlens.imaging.calibration import Calibration
from eitlens.imaging.misfit import Simulation, on_grid, relative_misfit
from eitlens.imaging.reconstruction import Reader, Reconstruction
from eitlens.imaging.refine import Problem
from eitlens.imaging.refine import refine as fine_tune
from eitlens.measure.measurement import Measurement
from eitlens.measure.prepare import Prepared, prepare


@dataclass(frozen=True)
class Imager:
    """A reader with its calibration, ready for any measurement."""

    reader: Reader
    calibration: Calibration
    name: str

    @staticmethod
    def load(model: str | Path | None = None, device: str = "cpu") -> "Imager":
        """Around a shipped network by its name (the default for None), or that of a run's folder."""
        folder = weights.find(model)
        return Imager(readers.open_folder(folder, pick_device(device)), Calibration.read(folder), folder.name)

    def __call__(
        self,
        measurement: Measurement,
        *,
        refine: int = 0,
        tau: float | None = None,
        n: int | None = None,
        misfit: bool = True,
    ) -> Reconstruction:
        """The image of a measurement.

        Args:
            measurement: points, currents and voltages; see `Measurement.of_difference` for plain f - f0.
            refine: at most so many steps of fine-tuning through the forward solver (`eitlens.imaging.refine`).
            tau: the noise level where it is known; estimated otherwise.
            n: cells a side of the image; the network's own by default.
            misfit: whether to run the image through the forward solver, which the contrast warning needs.
        """
        start = perf_counter()
        if not isinstance(measurement, Measurement):
            raise InputError(
                f"expected a Measurement, got a {type(measurement).__name__}: use Measurement.of_difference(f - f0) "
                "for an array, eitlens.measure.files.read(path) for a file"
            )
        options.check(refine, tau, n)
        prepared, fed = prepare_for(self.reader, measurement)
        data, seen = prepared.difference, prepared.seen
        noise = tau if tau is not None else self._noise(fed, prepared.noise)
        logits = self.reader.logits(fed)[0].cpu()
        with naming(measurement.source):
            self._check_finite(logits, data)
        calibration = self.calibration.reading(len(data))
        image, change = calibration.probability(logits, noise), None
        simulate = Simulation(self._currents(data), prepared.domain)
        contrast = calibration.contrast
        error = relative_misfit(simulate.image(logits, contrast), data, seen) if misfit or refine else None
        doubts = [*flags.input_flags(prepared, noise, calibration)]
        doubts += flags.contrast_flags(prepared, simulate.currents, error, noise, calibration)
        if refine and error is not None:
            # Data of unknown noise are trusted as little as the noisiest: they would be over-fitted otherwise.
            level = flags.NOISIEST if noise is None else noise
            problem = Problem(simulate, data, seen, level, contrast)
            image, change = fine_tune(problem, image, error, refine)
            error = change.misfit_after
            doubts += flags.refined_flags(change, contrast)
        domain = prepared.domain if n is None else prepared.domain.at(n)
        image = image if n is None else on_grid(image, n)
        spread = (image * (1 - image)).sqrt()
        seconds = perf_counter() - start
        return Reconstruction(
            image, spread, domain, noise, error, tuple(doubts), "network", self.name, seconds, change
        )

    def batch(self, difference: Data, tau: float | None = None) -> Float64[Tensor, "samples nx ny"]:
        """Calibrated images of many differences (B, L, N) in the reader's own form; no checks, for scores."""
        logits = self.reader.logits(difference).double().cpu()
        own = self.reader.noise_level(difference) if tau is None else None
        levels = [tau] * len(logits) if own is None else own.tolist()
        calibration = self.calibration.reading(difference.shape[1])
        return torch.stack([calibration.probability(z, t) for z, t in zip(logits, levels, strict=True)])

    def _noise(self, fed: Data, rough: float | None) -> float | None:
        own = self.reader.noise_level(fed)
        return rough if own is None else float(own[0])

    def _check_finite(self, logits: Tensor, data: Data) -> None:
        if not bool(torch.isfinite(logits).all()):
            size = float(data.abs().max())
            raise InputError(f"{self.name}: no image of data of size {size:.3g}: is the unit right?")

    def _currents(self, data: Data) -> CurrentsConfig:
        return CurrentsConfig(self.reader.currents.family, len(data))


def prepare_for(reader: Reader, measurement: Measurement) -> tuple[Prepared, Data]:
    """In the form this reader wants, and what it is fed with: nan at nodes not measured, if it can read that."""
    prepared = prepare(measurement, reader.currents, reader.fewest, reader.domain)
    if not reader.reads_gaps:
        return prepared, prepared.difference[None]
    return prepared, torch.where(prepared.seen, prepared.difference, torch.nan)[None]
