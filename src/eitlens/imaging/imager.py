"""From a measurement to an image with its uncertainty, its misfit and its doubts."""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from time import perf_counter

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens import checks, weights
from eitlens.device import pick_device
from eitlens.errors import InputError, prefix_errors
from eitlens.files import read_json
from eitlens.forward.base import Data
from eitlens.forward.currents import CurrentsConfig
from eitlens.imaging import options
from eitlens.imaging import warnings as flags
from eitlens.imaging.calibration import Calibration
from eitlens.imaging.misfit import Simulation, on_grid, relative_misfit
from eitlens.imaging.reconstruction import Image, Reconstruction, Refinement
from eitlens.imaging.refine import Problem
from eitlens.imaging.refine import refine as fine_tune
from eitlens.imaging.refine.phases import phases_of, refine_phases
from eitlens.measure.base import Flag, Measurement, Prepared
from eitlens.models.trained import Trained
from eitlens.threads import free_cores_only

_KEPT = 4  # networks in memory: a page compares a few, and each takes up to 60 MB


@dataclass(frozen=True)
class Imager:
    """A trained network with its calibration, ready for any measurement.

    >>> square, phantom = eit.Square(64), eit.Phantom([eit.circle((0.3, 0.2), 0.3)])
    >>> df = eit.BoundaryIntegralSolver(square).difference(phantom, eit.currents.cosine(square, 3))
    >>> result = eit.Imager.load("flagship")(eit.Measurement.of_difference(df))
    >>> result.image.shape, result.dice(phantom) > 0.95
    (torch.Size([201, 201]), True)
    """

    reader: Trained
    calibration: Calibration
    name: str
    noisiest: float | None = None
    """The largest noise level τ in its training; None where nobody kept it."""

    @staticmethod
    def load(model: str | Path | None = None, device: str = "cpu", symmetries: bool = False) -> "Imager":
        """Load a shipped network by its name (the default for None), or the network of a run's folder.

        With `symmetries` an image is the mean of those of the body and of its mirror images, where the currents allow
        them: slower by their number, and a little better.
        """
        folder = weights.find(model)
        reader = replace(Trained.open(folder, pick_device(device)), symmetries=symmetries)
        return Imager(reader, Calibration.read(folder), folder.name, _noisiest(folder))

    @free_cores_only()
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
        prepared = measurement.prepare(self.reader.currents, self.reader.fewest, self.reader.domain)
        answer = self.reader.answer(_fed(self.reader, prepared))
        logits, estimate = answer.logits[0].cpu(), answer.noise
        noise = tau if tau is not None else prepared.noise if estimate is None else float(estimate[0])
        if not bool(torch.isfinite(logits).all()):
            size = float(prepared.difference.abs().max())
            with prefix_errors(measurement.source):
                raise InputError(f"{self.name}: no image of data of size {size:.3g}: is the unit right?")
        if self.reader.network.phased:
            found = self._of_phases(prepared, answer.outputs[:1].cpu(), noise, misfit, refine, n)
            return replace(found, seconds=perf_counter() - start)
        image, error, doubts, change = self._examined(prepared, logits, noise, misfit, refine)
        domain = prepared.domain if n is None else prepared.domain.at(n)
        image = image if n is None else on_grid(image, n)
        spread, seconds = (image * (1 - image)).sqrt(), perf_counter() - start
        return Reconstruction(
            image, spread, domain, noise, error, doubts, "network", self.name, seconds, change
        )

    def _examined(
        self, prepared: Prepared, logits: Tensor, noise: float | None, misfit: bool, refine: int
    ) -> tuple[Image, float | None, tuple[Flag, ...], Refinement | None]:
        """The image, refined if asked for, with its misfit and what is doubtful about it."""
        data = prepared.difference
        calibration = self.calibration.reading(len(data))
        image, contrast = calibration.probability(logits, noise), calibration.contrast
        simulate = Simulation(CurrentsConfig(self.reader.currents.family, len(data)), prepared.domain)
        error = None
        if refine or (misfit and simulate.possible):
            error = relative_misfit(simulate.image(logits, contrast), data, prepared.seen)
        doubts = [*flags.input_flags(prepared, noise, calibration, self.noisiest)]
        # The data of an empty image are zero, which needs no solver.
        empty = not bool((logits > 0).any()) and bool((data != 0).any())
        left = 1.0 if error is None and empty else error
        drive = simulate.currents.build(prepared.domain)
        doubts += flags.contrast_flags(data, drive, left, noise, calibration, self.noisiest, prepared.gap)
        if not refine or error is None:
            return image, error, tuple(doubts), None
        # Data of unknown noise are trusted as little as the noisiest: they would be over-fitted otherwise.
        level = (self.noisiest or calibration.levels[-1]) if noise is None else noise
        problem = Problem(simulate, data, prepared.seen, level, contrast)
        image, change = fine_tune(problem, image, error, refine)
        doubts += flags.refined_flags(change, contrast)
        return image, change.misfit_after, tuple(doubts), change

    def _of_phases(
        self,
        prepared: Prepared,
        outputs: Tensor,
        noise: float | None,
        misfit: bool,
        refine: int,
        n: int | None,
    ) -> Reconstruction:
        """The image of a network of classes and log σ, refined if asked for."""
        data = prepared.difference
        calibration = self.calibration.reading(len(data))
        phases = phases_of(outputs, calibration.temperature(noise))
        simulate = Simulation(CurrentsConfig(self.reader.currents.family, len(data)), prepared.domain)
        error, change = None, None
        if refine or (misfit and simulate.possible):
            error = relative_misfit(simulate.conductivity(phases.log_sigma), data, prepared.seen)
        doubts = [*flags.input_flags(prepared, noise, calibration, self.noisiest)]
        doubts += flags.unexplained_flags(error, noise, calibration)
        if refine and error is not None:
            level = (self.noisiest or calibration.levels[-1]) if noise is None else noise
            problem = Problem(simulate, data, prepared.seen, level, calibration.contrast)
            phases, change = refine_phases(problem, phases, error, refine)
            error = change.misfit_after
        domain = prepared.domain if n is None else prepared.domain.at(n)
        phases = phases if n is None else phases.on_grid(n)
        return Reconstruction(
            phases.sign,
            phases.spread,
            domain,
            noise,
            error,
            tuple(doubts),
            "network",
            self.name,
            0.0,
            change,
            quantity="sign",
            phases=phases,
        )

    def takes(self, data: Tensor) -> bool:
        """Whether these are finite differences (L, N) or (B, L, N) in the network's own form: cosines at its nodes."""
        reader = self.reader
        return (
            data.ndim in (2, 3)
            and len(data) > 0
            and data.shape[-1] == self._drive.shape[-1]
            and reader.fewest <= data.shape[-2] <= len(self._drive)
            and reader.features.currents.family == "cosine"
            and bool(torch.isfinite(data).all())
        )

    def batch(self, difference: Data, tau: float | None = None) -> Float64[Tensor, "samples nx ny"]:
        """Calibrated images of many differences (B, L, N) in the reader's own form; no doubts, for scores."""
        return self._images(difference, tau)[0]

    def doubted(self, difference: Data) -> tuple[Float64[Tensor, "samples nx ny"], list[list[Flag]]]:
        """The same images, with what the data alone tell is doubtful about each."""
        images, levels = self._images(difference)
        calibration = self.calibration.reading(difference.shape[1])
        empty = ((images <= 0.5).flatten(1).all(1) & (difference != 0).flatten(1).any(1)).tolist()
        rows = zip(difference, levels, empty, strict=True)
        told = (flags.plain_flags(d, self._drive, t, calibration, self.noisiest, e) for d, t, e in rows)
        return images, [[*some] for some in told]

    @free_cores_only()
    def _images(
        self, difference: Data, tau: float | None = None
    ) -> tuple[Float64[Tensor, "samples nx ny"], list[float | None]]:
        """The images of a batch with the noise level of each."""
        data = _three_axes(difference)
        answer = self.reader.answer(data)
        logits = answer.logits.double().cpu()
        if not bool(torch.isfinite(logits).all()):
            raise InputError(
                f"{self.name}: no image of data up to {float(data.abs().max()):.3g}: is the unit right?"
            )
        levels = [tau] * len(logits) if tau is not None or answer.noise is None else answer.noise.tolist()
        calibration = self.calibration.reading(data.shape[1])
        images = [calibration.probability(z, t) for z, t in zip(logits, levels, strict=True)]
        return torch.stack(images), levels

    @cached_property
    def _drive(self) -> Data:
        """The currents of training at the nodes of the body."""
        return self.reader.features.currents.build(self.reader.domain)


def load(model: str | Path | None = None, device: str = "cpu", symmetries: bool = False) -> Imager:
    """The imager around a shipped network or a run's folder; the last few are kept in memory."""
    found = _loaded(weights.find(model), device)
    return replace(found, reader=replace(found.reader, symmetries=True)) if symmetries else found


@lru_cache(maxsize=_KEPT)
def _loaded(folder: Path, device: str) -> Imager:
    return Imager.load(folder, device)


def _three_axes(difference: object) -> Data:
    """The differences of a batch, or what to do instead."""
    if isinstance(difference, list | tuple) and any(isinstance(one, Measurement) for one in difference):
        raise InputError(
            "batch: got measurements: image each by itself, [imager(one) for one in measurements]"
        )
    data = checks.physics(difference, "batch: f - f0")
    if data.ndim != 3 or not len(data):
        raise InputError(f"batch: expected differences (B, L, N) of B bodies, got shape {tuple(data.shape)}")
    return data


def _fed(reader: Trained, prepared: Prepared) -> Data:
    """The data for the network: nan at nodes that were not measured, if it can read nan."""
    if not reader.features.reads_gaps:
        return prepared.difference[None]
    return torch.where(prepared.seen, prepared.difference, torch.nan)[None]


def _noisiest(folder: Path) -> float | None:
    """The largest noise level of a training, from the configuration beside its weights."""
    path = folder / "config.json"
    if not path.exists():
        return None
    return read_json(path, lambda run: float(max(run["noise"]["levels"])), "copy it again from the run")
