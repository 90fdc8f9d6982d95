"""The inspection of a measurement: every check that applies, in an order in which one fault does not look like two."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from eitlens.errors import InputError, prefix_errors
from eitlens.measure.quality.base import Explanation, Finding
from eitlens.measure.quality.contact import electrodes
from eitlens.measure.quality.drift import drift, drifting
from eitlens.measure.quality.gain import gains
from eitlens.measure.quality.linearity import linearity, nonlinear
from eitlens.measure.quality.model import TankModel
from eitlens.measure.quality.noise import noise, noisy
from eitlens.measure.quality.numbering import numbering, unseen
from eitlens.measure.quality.pattern import patterns
from eitlens.measure.quality.polarity import polarity
from eitlens.measure.quality.reciprocity import irreciprocal, reciprocity
from eitlens.measure.quality.saturation import saturated
from eitlens.measure.quality.swap import swapped
from eitlens.measure.readings import ElectrodeMeasurement
from eitlens.measure.tank import TankFit, fit_tank

EXPLAINING: tuple[Callable[[TankModel], list[Explanation]], ...] = (
    polarity,
    patterns,
    swapped,
    numbering,
    electrodes,
    gains,
)
"""The checks that compare the readings with those of an empty tank. The best explanation of all is believed."""
_BETTER = 0.7  # an explanation leaves no more than this part of what was left without it
_SIMPLER = 1.1  # each further change must explain so much more
_MOST_FAULTS = 4  # that are looked for at once: with more, the measurement is to be repeated
_MISFIT = 0.25  # a tank that fits no better is another tank
MISFIT = "model"


@dataclass(frozen=True, eq=False)
class Report:
    """What an inspection found.

    Attributes:
        measurement: as it was given.
        findings: what is wrong, in the order in which it is corrected.
        facts: what was measured on the way, by name, after all corrections: noise, reciprocity, linearity (relative to
            the readings), drift, residual and residual_given, conductivity in S/m, impedance in Ω m².
        remarks: what could not be checked, and why.
        fit: of the empty tank, after all corrections; None where it could not be fitted.
    """

    measurement: ElectrodeMeasurement
    findings: tuple[Finding, ...]
    facts: dict[str, float]
    remarks: tuple[str, ...]
    fit: TankFit | None

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
        return {"findings": findings, "facts": self.facts, "remarks": list(self.remarks)}


def inspect(measurement: ElectrodeMeasurement) -> Report:
    """Look at the quality of a measurement before any image is made of it.

    Nothing is changed: `Report.applied()` returns the measurement with what was found corrected.

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
        return _Inspection(measurement).report()


class _Inspection:
    """The measurement as far as it is corrected, and what was found so far."""

    def __init__(self, measurement: ElectrodeMeasurement) -> None:
        self.given = self.current = measurement
        self.findings: list[Finding] = []
        self.facts: dict[str, float] = {}
        self.remarks: list[str] = []
        self.fit: TankFit | None = None

    def report(self) -> Report:
        self._found(nonlinear(self.current))
        self._found(saturated(self.current))
        try:
            self._explain()
        except InputError as error:
            self.remarks.append(f"the empty tank could not be compared: {error}")
        self._found(noisy(self.current))
        self._found(irreciprocal(self.current, noise(self.current)))
        self._measure()
        self._found(drifting(self.current))
        return Report(self.given, tuple(self.findings), self.facts, tuple(self.remarks), self.fit)

    def _found(self, findings: list[Finding]) -> None:
        self.findings += findings
        for finding in findings:
            self.current = self.current if finding.fix is None else finding.fix(self.current)

    def _explain(self) -> None:
        """What makes the readings those of an empty tank, the best explanation first, as long as there is one."""
        if self.current.reference is None:
            self.remarks.append("there is no reference: the frames were compared with an empty tank")
        self.facts["residual_given"] = TankModel(self.current).given
        for _ in range(_MOST_FAULTS):
            model = TankModel(self.current)
            best = believed(model)
            if best is None:
                break
            self._found([best.finding])
        self.remarks += [sentence for sentence in (unseen(model),) if sentence]
        self.fit = fit_tank(self.current)
        self.facts |= {"residual": self.fit.residual, "conductivity": self.fit.conductivity}
        self.facts["impedance"] = float(self.fit.electrodes.impedance.mean())
        if self.fit.residual > _MISFIT:
            text = f"the {self.fit.fitted} does not fit the tank: {self.fit.residual:.0%} of it is left"
            self.findings.append(
                Finding(MISFIT, text, self.fit.residual, "check the body and the electrodes")
            )

    def _measure(self) -> None:
        change = drift(self.current)
        largest = None if change is None else float(change.factors[change.factors.abs().argmax()])
        values = {
            "noise": noise(self.current),
            "reciprocity": reciprocity(self.current),
            "linearity": linearity(self.current),
            "drift": largest,
        }
        self.facts |= {name: value for name, value in values.items() if value is not None}


def believed(model: TankModel) -> Explanation | None:
    """The best explanation of the readings, if there is one that is much better than none."""
    options = [found for check in EXPLAINING for found in check(model)]
    good = [option for option in options if _good(option, model.given)]
    return min(good, key=lambda option: option.residual * _SIMPLER**option.changes, default=None)


def _good(option: Explanation, before: float) -> bool:
    explained = max(before**2 - option.residual**2, 0.0) ** 0.5
    return option.residual <= _BETTER * before and explained >= option.least
