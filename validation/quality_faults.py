"""Random tanks, sound ones and ones with a fault: what `validation/quality.py` and a test inspect.

A tank has 16 or 32 electrodes of random coverage and contact, a pattern of a random kind, one to three random ellipses
in its frames, and what no real tank is free of: contacts that differ by 20 %, electrodes that are off by a hundredth of
their distance, gains of channels that differ by 0.3 %, and noise of 0.02 to 0.2 % of the readings. The body is round,
or an ellipse. Each fault is a function of a tank that returns a measurement and whether a report names the fault.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from eitlens.domain import Disk, Domain, bodies
from eitlens.electrodes import Electrodes, Pattern, simulate_readings
from eitlens.measure.quality import Inspection
from eitlens.measure.quality.gain import numbered
from eitlens.measure.readings import ElectrodeMeasurement
from eitlens.phantom import Ellipse, Phantom

CONTACTS, PLACES, GAINS = 0.2, 0.01, 0.003
"""Relative spread of the contacts; spread of places in distances of electrodes; spread of gains."""
REFERENCES, FRAMES = 8, 3
DRIFT, GAIN, NOISE = 0.05, 0.1, 0.01
SAME = 0.003
"""A proposed pattern is right if it gives the readings of the real one."""


class Draw:
    """Random numbers."""

    def __init__(self, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(seed)

    def uniform(self, low: float, high: float) -> float:
        """A number between two others."""
        return low + (high - low) * float(torch.rand((), generator=self.generator, dtype=torch.float64))

    def whole(self, low: int, high: int) -> int:
        """A whole number, low <= number < high."""
        return int(torch.randint(low, high, (), generator=self.generator))

    def sign(self) -> int:
        """1 or -1."""
        return 1 if self.whole(0, 2) else -1

    def normal(self, *size: int) -> Tensor:
        """Normal numbers of variance 1."""
        return torch.randn(size, generator=self.generator, dtype=torch.float64)


@dataclass(frozen=True)
class Words:
    """A pattern in words."""

    name: str
    readings: str
    driven: bool
    rotating: bool

    def pattern(self, count: int) -> Pattern:
        """The pattern of one milliampere."""
        return Pattern.named(self.name, count, 1e-3, self.readings, self.driven, self.rotating)


@dataclass(frozen=True, eq=False)
class Tank:
    """A random tank: its electrodes as they are said to be and as they are, and what is in it."""

    said: Electrodes
    real: Electrodes
    words: Words
    phantom: Phantom
    gains: Tensor
    noise: float
    draw: Draw

    @property
    def count(self) -> int:
        """How many electrodes."""
        return self.said.count

    @cached_property
    def pattern(self) -> Pattern:
        """The pattern that is said."""
        return self.words.pattern(self.count)

    @cached_property
    def resistances(self) -> Tensor:
        """The potentials for unit currents, with the phantom and without: (2, E, E)."""
        eye = torch.eye(self.count, dtype=torch.float64)
        phantoms = [self.phantom, Phantom([], outside=self.phantom.outside)]
        every = Pattern(eye - 1 / self.count, eye - 1 / self.count)
        return simulate_readings(self.real, every, phantoms).reshape(2, self.count, self.count)

    @cached_property
    def ideal(self) -> Tensor:
        """The potentials of the empty tank with the electrodes as they are said to be."""
        eye = torch.eye(self.count, dtype=torch.float64)
        every = Pattern(eye - 1 / self.count, eye - 1 / self.count)
        return simulate_readings(self.said, every, Phantom([])).reshape(self.count, self.count)

    def clean(self, pattern: Pattern) -> Tensor:
        """The readings with the phantom and without, if that is really the pattern."""
        return self.amplified(pattern.read(pattern.stimulation @ self.resistances), pattern)

    def amplified(self, readings: Tensor, pattern: Pattern) -> Tensor:
        """The readings with the gains of their channels."""
        return readings * self.gains[numbered(pattern) % len(self.gains)]

    def measured(self, clean: Tensor, noise: float | None = None) -> ElectrodeMeasurement:
        """The measurement as a file would give it, with noise."""
        size = (self.noise if noise is None else noise) * float(clean[1].square().mean().sqrt())
        frames = clean[0] + size * self.draw.normal(FRAMES, clean.shape[1])
        reference = clean[1] + size * self.draw.normal(REFERENCES, clean.shape[1])
        return ElectrodeMeasurement(self.said, self.pattern, frames, reference)


def random_tank(seed: int, ellipse: bool = False, usable: Callable[[Words], bool] | None = None) -> Tank:
    """A random tank by its seed; its pattern is of a usable kind."""
    draw = Draw(seed)
    count = (16, 32)[draw.whole(0, 2)]
    body = _body(draw, ellipse)
    first = _first(draw, body, count) if ellipse else draw.uniform(0, 2 * math.pi)
    said = Electrodes.even(body, count, draw.uniform(0.2, 0.7), first=first)
    contact = 10 ** draw.uniform(-2.5, -0.5) * body.scale * float(said.widths[0]) / _SIGMA
    places = said.places + PLACES * body.perimeter / count * draw.normal(count)
    real = Electrodes(body, places, said.widths, contact * torch.exp(CONTACTS * draw.normal(count)))
    phantom, gains = _phantom(draw), 1 + GAINS * draw.normal(count)
    noise = 10 ** draw.uniform(math.log10(2e-4), math.log10(2e-3))
    words = _words(draw, count)
    while usable is not None and not usable(words):
        words = _words(draw, count)
    return Tank(said, real, words, phantom, gains, noise, draw)


_SIGMA = 0.3


def _body(draw: Draw, ellipse: bool) -> Domain:
    size = draw.uniform(0.05, 0.2)
    return bodies.ellipse(size, size * draw.uniform(0.6, 0.85)) if ellipse else Disk(32, scale=size)


def _first(draw: Draw, body: Domain, count: int) -> float:
    """An angle of electrode 1 from which the ellipse can tell a mirror image from every turn.

    With electrode 1 on an axis of the ellipse, or half-way between two electrodes if one were there, the mirror image
    is a turn. It is told best a quarter of the distance of electrodes from there.
    """
    step = body.perimeter / count
    s = (draw.whole(0, count) + draw.sign() * draw.uniform(0.17, 0.33)) * step
    x, y = body.place(torch.tensor([s % body.perimeter], dtype=torch.float64))[0].tolist()
    return math.atan2(y, x)


def _words(draw: Draw, count: int) -> Words:
    name = ("adjacent", f"skip-{draw.whole(1, 5)}", "opposite", "all-against-1", "trigonometric")[
        draw.whole(0, 5)
    ]
    readings = ("adjacent", name if "skip" in name else "adjacent", "mean")[draw.whole(0, 3)]
    all_drive = name in ("trigonometric", "all-against-1") or readings == "mean"
    driven, rotating = bool(draw.whole(0, 2)) or all_drive, bool(draw.whole(0, 2))
    return Words(name, readings, driven, rotating and name != "trigonometric" and readings != "mean")


def _phantom(draw: Draw) -> Phantom:
    """One to three ellipses apart, well within the body, all conducting or all insulating more than it."""
    shapes: list[Ellipse] = []
    wanted, ratio = draw.whole(1, 4), 10 ** (draw.uniform(0.3, 1.0) * draw.sign())
    while len(shapes) < wanted:
        x, y, size = draw.uniform(-0.7, 0.7), draw.uniform(-0.5, 0.5), draw.uniform(0.08, 0.25)
        inside = math.hypot(x, y / 0.7) + size < 0.8 and abs(y) + size < 0.5
        if inside and all(math.dist((x, y), e.center) > size + max(e.semi_axes) + 0.05 for e in shapes):
            shapes.append(Ellipse((x, y), (size, size * draw.uniform(0.6, 1.0)), draw.uniform(0, math.pi)))
        elif shapes and draw.uniform(0, 1) < 0.1:
            break
    return Phantom(shapes, inside=_SIGMA * ratio, outside=_SIGMA)


Named = Callable[[Inspection], bool]
Case = tuple[ElectrodeMeasurement, Named]


def _alone(kind: str, more: Named = lambda report: True) -> Named:
    """Whether just one thing was found, of a kind, and what else is asked of it."""
    return lambda report: [f.kind for f in report.findings] == [kind] and more(report)


def _right(tank: Tank, real: Pattern) -> Named:
    """Whether the proposed pattern has the readings of the real one, were the electrodes as they are said to be."""
    wanted = real.read(real.stimulation @ tank.ideal)

    def same(report: Inspection) -> bool:
        pattern = report.applied().pattern
        found = pattern.read(pattern.stimulation @ tank.ideal)
        return len(found) == len(wanted) and bool((found - wanted).norm() < SAME * wanted.norm())

    return same


def sound(seed: int, ellipse: bool = False) -> Case:
    """Nothing is wrong."""
    tank = random_tank(seed, ellipse)
    return tank.measured(tank.clean(tank.pattern)), lambda report: not report.findings


def dead(seed: int) -> Case:
    """The wire of an electrode is broken: it drives nothing, the others take its share, and 0 V is read at it."""
    tank = random_tank(seed)
    number = tank.draw.whole(1 if tank.words.name == "all-against-1" else 0, tank.count)
    drive = tank.pattern.stimulation.clone()
    drive[:, number] = 0
    others = (drive != 0).to(drive)
    drive = drive - others * (drive.sum(-1) / others.sum(-1).clamp(min=1))[:, None]
    potentials = drive @ tank.resistances
    potentials[..., number] = 0
    clean = tank.amplified(tank.pattern.read(potentials), tank.pattern)
    return tank.measured(clean), _alone(
        "dead electrode", lambda report: report.findings[0].electrodes == (number + 1,)
    )


def swapped(seed: int) -> Case:
    """Two electrodes are connected where the other should be."""
    tank = random_tank(seed)
    one = tank.draw.whole(0, tank.count - 1)
    pair = (one, tank.draw.whole(one + 1, tank.count))
    order = list(range(tank.count))
    order[pair[0]], order[pair[1]] = pair[1], pair[0]
    named = (pair[0] + 1, pair[1] + 1)
    clean = tank.clean(tank.pattern.renumbered(order))
    return tank.measured(clean), _alone(
        "swapped electrodes", lambda report: report.findings[0].electrodes == named
    )


def polarity(seed: int) -> Case:
    """All readings have the other sign."""
    tank = random_tank(seed)
    return tank.measured(-tank.clean(tank.pattern)), _alone("polarity")


def skip(seed: int) -> Case:
    """The device drives (and reads, where it reads the same pairs) with another skip than is said."""
    tank = random_tank(
        seed, usable=lambda words: "skip" in words.name or (words.name == "adjacent" and words.driven)
    )
    while True:
        name = ("adjacent", *(f"skip-{k}" for k in range(1, tank.count // 2 - 1)))[
            tank.draw.whole(0, tank.count // 2 - 1)
        ]
        readings = name if tank.words.readings == tank.words.name else tank.words.readings
        real = replace(tank.words, name=name, readings=readings).pattern(tank.count)
        if name != tank.words.name and real.count == tank.pattern.count:
            return tank.measured(tank.clean(real)), _alone("pattern", _right(tank, real))


def rotated(seed: int) -> Case:
    """Channels turn with the electrodes that drive where they are said to be fixed, or the other way round."""
    tank = random_tank(seed, usable=lambda words: words.name != "trigonometric" and words.readings != "mean")
    real = replace(tank.words, rotating=not tank.words.rotating).pattern(tank.count)
    return tank.measured(tank.clean(real)), _alone("order of readings", _right(tank, real))


def drift(seed: int) -> Case:
    """The water conducts 5 % better or worse than in the reference."""
    tank = random_tank(seed)
    size, clean = DRIFT * tank.draw.sign(), tank.clean(tank.pattern)
    clean[0] *= 1 + size
    return tank.measured(clean), _alone("drift", lambda report: abs(report.findings[0].size - size) < 0.02)


def gain(seed: int) -> Case:
    """A channel reads 10 % too much or too little."""
    tank = random_tank(seed)
    channel, size = numbered(tank.pattern), GAIN * tank.draw.sign()
    bad = tank.draw.whole(0, int(channel.max()) + 1)
    clean = tank.clean(tank.pattern) * torch.where(channel == bad, 1 + size, 1.0)
    return tank.measured(clean), _alone("gain", lambda report: report.findings[0].channels == (bad + 1,))


def noise(seed: int) -> Case:
    """Noise of 1 % of the readings."""
    tank = random_tank(seed)
    clean = tank.clean(tank.pattern)
    return tank.measured(clean, NOISE), _alone(
        "noise", lambda report: abs(report.findings[0].size - NOISE) < 0.2 * NOISE
    )


def reversed_numbers(seed: int) -> Case:
    """On an ellipse, the numbers run the other way round."""
    tank = random_tank(seed, ellipse=True)
    real = tank.pattern.mirrored()
    return tank.measured(tank.clean(real)), _alone("numbering", _right(tank, real))


def first_electrode(seed: int) -> Case:
    """On an ellipse, electrode 1 is another one."""
    tank = random_tank(seed, ellipse=True)
    real = tank.pattern.turned(tank.draw.whole(1, tank.count // 2))
    return tank.measured(tank.clean(real)), _alone("numbering", _right(tank, real))


FAULTS: dict[str, Callable[[int], Case]] = {
    "dead": dead,
    "swapped": swapped,
    "polarity": polarity,
    "skip": skip,
    "rotated": rotated,
    "drift": drift,
    "gain": gain,
    "noise": noise,
    "reversed-numbering": reversed_numbers,
    "first-electrode": first_electrode,
}
