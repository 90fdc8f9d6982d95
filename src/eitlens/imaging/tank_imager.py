"""A trained network for round tanks: from readings of any electrodes to three classes and σ, with doubts.

The measurement is inspected (`eitlens.measure.quality`): what is found is corrected, and told as a warning. Drift is
left to what follows: the code of `eitlens.feature.maps`, which means the same for any electrodes and pattern, and looks
past changes along the empty tank's readings.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from safetensors.torch import load_file

from eitlens import weights
from eitlens.classical.outlines import Progress
from eitlens.device import float32_products, pick_device
from eitlens.domain import Disk, Domain
from eitlens.errors import InputError, prefix_errors
from eitlens.feature.maps import MapCode, MapPrior, packed
from eitlens.files import read_json
from eitlens.imaging.options import check
from eitlens.imaging.reconstruction import Phases, Reconstruction
from eitlens.imaging.refine.tank import refined
from eitlens.measure import Measurement
from eitlens.measure.base import Flag
from eitlens.measure.map_code import mapped_readings
from eitlens.measure.plausible import unit_warning
from eitlens.measure.quality import drift, inspect
from eitlens.measure.readings import ElectrodeMeasurement
from eitlens.measure.tank import TankFit, fit_wide_tank
from eitlens.models import storage
from eitlens.models.tank import Tank, TankOutput, read_output
from eitlens.threads import free_cores_only

WEIGHTS = "best"
"""The name of the weights in their folder."""
FAINT = 0.02
"""Of the empty tank's readings: of smaller changes noise may be the most, and a misfit tells nothing."""
_SMALLEST = 1e-9  # of the empty tank's readings: a smaller change is none
_FEW = 0.25  # of the readings: of fewer most of the image is a guess
_FRAMES = 32  # at a time
_BETWEEN = 1.1  # times the ends of a range of training: fits are not exact


@dataclass(frozen=True)
class TankTraining:
    """What a network was trained on, and what it showed afterwards.

    Attributes:
        electrodes: numbers of electrodes.
        coverage: the least and the largest share of the boundary that they cover.
        impedance: of the contacts, in radii over conductivity, the least and the largest.
        temperature: what logits are divided by.
        misfit: 99 % of simulated tanks leave no more of their changes unexplained, unless these are below `FAINT`.
    """

    electrodes: tuple[int, ...]
    coverage: tuple[float, float]
    impedance: tuple[float, float]
    temperature: float
    misfit: float

    @staticmethod
    def read(folder: Path) -> "TankTraining":
        """Read what config.json and calibration.json beside the weights say."""

        def ranges(values: dict[str, Any]) -> tuple[Any, ...]:
            known = values["devices"]
            return tuple(known["electrodes"]), tuple(known["coverage"]), tuple(known["impedance"])

        def shown(values: dict[str, Any]) -> tuple[float, float]:
            return float(values["temperature"]), float(values["misfit"])

        again = "copy it again from where the weights come from"
        electrodes, coverage, impedance = read_json(folder / "config.json", ranges, again)
        temperature, misfit = read_json(folder / "calibration.json", shown, again)
        return TankTraining(electrodes, coverage, impedance, temperature, misfit)

    def doubts(self, fit: TankFit) -> Iterator[Flag]:
        """What is unlike the tanks of training."""
        row = fit.electrodes
        if row.count not in self.electrodes:
            known = " and ".join(map(str, self.electrodes))
            yield Flag("tank", f"{row.count} electrodes: the network was trained with {known}")
        covered = float(row.widths.sum()) / row.body.perimeter
        contact = float(row.relative_impedance.mean()) * fit.conductivity
        for name, value, (low, high) in (
            ("a coverage of the boundary", covered, self.coverage),
            ("a contact impedance (in radii over σ)", contact, (0.0, self.impedance[1])),
        ):
            if not low / _BETWEEN <= value <= high * _BETWEEN:
                yield Flag("tank", f"{name} of {value:.2g}: the network was trained with {low:g} to {high:g}")


@dataclass(frozen=True, eq=False)
class TankImager:
    """A trained network for round tanks.

    >>> tank = eit.Disk(32, scale=0.1)
    >>> electrodes, pattern = eit.Electrodes.even(tank, 16), eit.Pattern.named("adjacent", 16, current=1e-3)
    >>> bodies = [eit.Phantom([eit.circle((0.4, 0.3), 0.25)], [3.0], outside=0.3), eit.Phantom([], outside=0.3)]
    >>> target, water = eit.simulate_readings(electrodes, pattern, bodies)
    >>> measurement = eit.Measurement.of_electrodes(electrodes, pattern, target, reference=water)
    >>> found = next(eit.imaging.TankImager.load().frames(measurement))
    >>> found.quantity, found.dice(bodies[0]) > 0.8
    ('sign', True)
    """

    network: Tank
    prior: MapPrior
    training: TankTraining
    name: str
    device: torch.device

    @staticmethod
    def load(model: str | Path | None = None, device: str = "cpu") -> "TankImager":
        """Load a shipped network by its name (the default for None), or that of a folder."""
        return _loaded(weights.find_tank(model), pick_device(device))

    def frames(
        self,
        measurement: Measurement,
        n: int | None = None,
        refine: int = 0,
        progress: Progress | None = None,
    ) -> Iterator[Reconstruction]:
        """Image all frames, in order.

        Args:
            measurement: of a round tank, with a reference.
            n: cells a side of the images; the network's own by default.
            refine: at most so many steps for outlines that explain the readings (`eitlens.imaging.refine.tank`).
            progress: told how far the outlines are.
        """
        start = perf_counter()
        check(refine, None, n)
        given = _of_tank(measurement)
        with prefix_errors(given.source), free_cores_only():
            corrected, found = _corrected(given)
            fit = fit_wide_tank(corrected)
            read = mapped_readings(corrected, self.prior, fit=fit)
        domain = given.domain.at(n or self.network.nodes - 1)
        wrong = unit_warning(given)
        units = () if wrong is None else (Flag("units", wrong),)
        doubts = (*found, *units, *self.training.doubts(fit))
        for rows in torch.split(torch.arange(given.frames), _FRAMES):
            part = read.selected(rows)
            with free_cores_only():
                code = part.code()
                answer, misfits = self._answer(code, domain.shape[0]), part.misfit(code)
            strange = (misfits > self.training.misfit) & (part.size > FAINT)
            there = part.readings.isfinite().double().mean(1).tolist()
            seconds = (perf_counter() - start) / len(rows)
            for k, (row, misfit) in enumerate(zip(rows.tolist(), misfits.tolist(), strict=True)):
                own = (*doubts, *_of_size(float(part.size[k]), there[k]))
                own = (*own, self._strange(misfit)) if strange[k] else own
                image = self._reconstruction(answer, k, domain, misfit, own, seconds)
                yield refined(corrected.frame(row), fit, image, refine, progress) if refine else image
            start = perf_counter()

    @torch.no_grad()
    @float32_products(tf32=False)
    def _answer(self, code: MapCode, nodes: int) -> TankOutput:
        outputs = self.network.on_grid(packed(code).to(self.device), nodes).cpu()
        return TankOutput(*(part.double() for part in read_output(outputs, self.training.temperature)))

    def _strange(self, misfit: float) -> Flag:
        text = f"{misfit:.0%} of the changes are unlike those of any body in a round tank (of simulated tanks 99 % had "
        return Flag("tank", f"{text}at most {self.training.misfit:.0%}): are body and electrodes as given?")

    def _reconstruction(
        self,
        answer: TankOutput,
        k: int,
        domain: Domain,
        misfit: float,
        doubts: tuple[Flag, ...],
        seconds: float,
    ) -> Reconstruction:
        inside = domain.inside()
        background, resistive, conductive = (part.where(inside, 0.0) for part in answer.probabilities[k])
        phases = Phases(
            torch.stack([background.where(inside, 1.0), resistive, conductive]),
            answer.log_sigma[k].where(inside, 0.0),
            answer.deviation[k].where(inside, 0.0),
        )
        image = conductive - resistive
        spread = (conductive + resistive - image.square()).clamp(min=0).sqrt()
        return Reconstruction(
            image,
            spread,
            domain,
            None,
            misfit,
            doubts,
            "network",
            self.name,
            seconds,
            quantity="sign",
            phases=phases,
        )


def _of_size(size: float, there: float) -> Iterator[Flag]:
    """Doubts about changes of `size`, over the readings of the empty tank, of which a part is `there`."""
    if there < _FEW:
        yield Flag("gap", f"{there:.0%} of the readings are there: most of the image is a guess")
    if size < _SMALLEST:
        yield Flag("amplitude", "the readings are those of the reference: there is nothing to see")


def _of_tank(measurement: Measurement) -> ElectrodeMeasurement:
    if not isinstance(measurement, ElectrodeMeasurement):
        raise InputError(
            "this network images readings of electrodes on a round tank, got potentials at points of the boundary: "
            "leave out --model, or use --method dsm"
        )
    if measurement.domain.name != Disk.name:
        raise InputError(
            f"this network knows round tanks, and the measurement is of a {measurement.domain.name}: use --method "
            "gauss-newton or another that needs no training"
        )
    if measurement.baseline is None:
        raise InputError(
            "this network needs a reference, readings of the tank without objects: give --reference"
        )
    return measurement


def _corrected(measurement: ElectrodeMeasurement) -> tuple[ElectrodeMeasurement, tuple[Flag, ...]]:
    """The measurement with what the inspection found corrected, and what it found."""
    report = inspect(measurement)
    found = [finding for finding in report.findings if finding.kind != drift.KIND]
    kinds = {finding.kind for finding in found if finding.fix is not None}
    corrected = report.applied(*kinds) if kinds else measurement
    return corrected, tuple(Flag("quality", finding.text) for finding in found)


@lru_cache(maxsize=2)
def _loaded(folder: Path, device: torch.device) -> TankImager:
    with prefix_errors(str(folder)):
        network = Tank.of(storage.load(folder / f"{WEIGHTS}.safetensors", device))
    prior = MapPrior.from_tensors(load_file(folder / weights.MAPS))
    return TankImager(network, prior, TankTraining.read(folder), folder.name, device)
