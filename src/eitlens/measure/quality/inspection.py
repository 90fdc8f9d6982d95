"""The inspection of a measurement: every check that applies, in an order in which one fault does not look like two."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from eitlens.errors import InputError, prefix_errors
from eitlens.measure.base import Measurement
from eitlens.measure.quality.base import BETTER, Explanation, Fault
from eitlens.measure.quality.contact import electrodes
from eitlens.measure.quality.device import device
from eitlens.measure.quality.drift import drift, drifting
from eitlens.measure.quality.gain import gains
from eitlens.measure.quality.linearity import linearity, nonlinear
from eitlens.measure.quality.model import EmptyBody, EmptyTankModel
from eitlens.measure.quality.noise import noise, noisy
from eitlens.measure.quality.numbering import numbering, unseen
from eitlens.measure.quality.pattern import patterns
from eitlens.measure.quality.reciprocity import irreciprocal, reciprocity
from eitlens.measure.quality.saturation import saturated
from eitlens.measure.quality.wiring import polarity, swapped
from eitlens.measure.readings import ElectrodeMeasurement
from eitlens.measure.tank import TankFit, fit_tank

EXPLAINING: dict[Callable[[EmptyTankModel], list[Explanation]], float] = {
    polarity: 0.03,
    patterns: 0.03,
    swapped: 0.03,
    numbering: 0.003,
    electrodes: 0.03,
    gains: 0.0,
}
"""The checks that compare the readings with those of an empty tank: the best explanation of all is believed. An
explanation that explains less than this part of the readings is none; of gains, the check itself asks for more."""
_SIMPLER = 1.1  # each further change must explain so much more
_MOST_FAULTS = 4  # that are looked for at once: with more, the measurement is to be repeated
_MISFIT = 0.25  # a tank that fits no better is another tank
MISFIT = "model"


@dataclass(frozen=True, eq=False)
class Inspection:
    """What an inspection found.

    Attributes:
        measurement: as it was given.
        findings: what is wrong, in the order in which it is corrected.
        facts: what was measured on the way, by name, relative to the readings and after all corrections: noise,
            reciprocity, linearity, drift, and residual, what is left of the reference by an empty tank whose contacts
            differ; residual_given is that of the measurement as it was given.
        remarks: what could not be checked, and why.
    """

    measurement: ElectrodeMeasurement
    findings: tuple[Fault, ...]
    facts: dict[str, float]
    remarks: tuple[str, ...]

    @cached_property
    def fit(self) -> TankFit | None:
        """The empty tank after all corrections, fitted when it is asked for; None where it cannot be."""
        try:
            return fit_tank(self.applied())
        except InputError:
            return None

    def applied(self, *kinds: str) -> ElectrodeMeasurement:
        """The measurement with what was found masked or corrected, all or some kinds; its notes say what was done."""
        fixable = [finding for finding in self.findings if finding.fix is not None]
        for kind in kinds:
            if kind not in [finding.kind for finding in fixable]:
                known = ", ".join(dict.fromkeys(finding.kind for finding in fixable)) or "nothing"
                raise InputError(f"there is nothing to correct of the kind {kind!r}: there is {known}")
        found = self.measurement
        for finding in fixable:
            if finding.fix is not None and (not kinds or finding.kind in kinds):
                found = finding.fix(found)
        return found

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        findings = [finding.to_dict() for finding in self.findings]
        tank = None if self.fit is None else self.fit.summary()
        return {"findings": findings, "facts": self.facts, "tank": tank, "remarks": list(self.remarks)}


def inspect(measurement: Measurement) -> Inspection:
    """Look at the quality of a measurement before any image is made of it.

    Nothing is changed: `Inspection.applied()` returns the measurement with what was found corrected.

    >>> from eitlens.measure.quality import inspect
    >>> tank = eit.Disk(32, scale=0.1)
    >>> electrodes, pattern = eit.Electrodes.even(tank, 16), eit.Pattern.named("adjacent", 16, current=1e-3)
    >>> water = eit.simulate_readings(electrodes, pattern, eit.Phantom([], outside=0.3))
    >>> report = inspect(eit.Measurement.of_electrodes(electrodes, pattern, -water))
    >>> [finding.kind for finding in report.findings]
    ['polarity']
    """
    if not isinstance(measurement, ElectrodeMeasurement):
        raise InputError(
            "only a measurement of electrodes can be inspected: give electrodes, a pattern and volts"
        )
    with prefix_errors(measurement.source):
        return _Inspector(measurement).report()


class _Inspector:
    """The measurement as far as it is corrected, and what was found so far."""

    def __init__(self, measurement: ElectrodeMeasurement) -> None:
        self.given = self.current = measurement
        self.findings: list[Fault] = []
        self.facts: dict[str, float] = {}
        self.remarks: list[str] = []

    def report(self) -> Inspection:
        self._found(device(self.current))  # before electrodes are blamed for what it does
        self._found(nonlinear(self.current))
        self._found(saturated(self.current))
        try:
            self._explain()
        except InputError as error:
            self.remarks.append(f"the empty tank could not be compared: {error}")
        self._found(noisy(self.current))
        self._found(irreciprocal(self.current, noise(self.current)))
        self._measure()
        return Inspection(self.given, tuple(self.findings), self.facts, tuple(self.remarks))

    def _found(self, findings: list[Fault]) -> None:
        self.findings += findings
        for finding in findings:
            self.current = self.current if finding.fix is None else finding.fix(self.current)

    def _explain(self) -> None:
        """What makes the readings those of an empty tank, the best explanation first, as long as there is one."""
        if self.current.reference is None:
            self.remarks.append("there is no reference: the frames were compared with an empty tank")
        body = EmptyBody(self.current.electrodes)
        self.facts["residual_given"] = EmptyTankModel(self.current, body).given
        for _ in range(_MOST_FAULTS):
            model = EmptyTankModel(self.current, body)
            best = believed(model)
            if best is None:
                break
            self._found([best.finding])
        self.remarks += [sentence for sentence in (unseen(model),) if sentence]
        self.facts["residual"] = model.given
        if model.given > _MISFIT:
            text = f"the readings do not fit an empty tank: {model.given:.0%} of them are left"
            self.findings.append(
                Fault(MISFIT, text, model.given, "check the body, the electrodes and the pattern")
            )

    def _measure(self) -> None:
        change = drift(self.current)
        values = {
            "noise": noise(self.current),
            "reciprocity": reciprocity(self.current),
            "linearity": linearity(self.current),
            "drift": None if change is None else change.largest,
        }
        self.facts |= {name: value for name, value in values.items() if value is not None}
        self._found([] if change is None else drifting(change))


def believed(model: EmptyTankModel) -> Explanation | None:
    """The best explanation of the readings, if there is one that is much better than none."""
    checks = [(check, least) for check, least in EXPLAINING.items() if least < model.given]
    options = [(found, least) for check, least in checks for found in check(model)]
    good = [option for option, least in options if _good(option, model.given, least)]
    return min(good, key=lambda option: option.residual * _SIMPLER**option.changes, default=None)


def _good(option: Explanation, before: float, least: float) -> bool:
    explained = max(before**2 - option.residual**2, 0.0) ** 0.5
    return option.residual <= BETTER * before and explained >= least
