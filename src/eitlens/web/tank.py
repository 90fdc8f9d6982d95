"""Tanks on the page: from a drawing, or from files, to readings, findings and an image a frame by each method."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from hashlib import blake2b
from threading import Lock
from time import perf_counter
from typing import Any

import torch
from torch import Tensor

from eitlens import imaging, weights
from eitlens.cancellation import Check
from eitlens.domain import Domain
from eitlens.electrodes import Electrodes, Pattern
from eitlens.errors import InputError
from eitlens.evaluate.images import scores
from eitlens.forward.automatic import thickness
from eitlens.forward.integral.outlines import needed_nodes
from eitlens.imaging.reconstruction import Reconstruction
from eitlens.measure import Measurement
from eitlens.measure.isolation import SafeParser
from eitlens.measure.quality import inspect
from eitlens.measure.readings import ElectrodeMeasurement
from eitlens.measure.sequence import Found, compared
from eitlens.measure.simulation import simulated
from eitlens.phantom import Phantom, as_batch
from eitlens.web import encoding
from eitlens.web.tank_schema import BODIES, COVERAGE, MOST_METHODS, DrawnTank, TankDrawing, TankFiles

METHODS = {
    "network": "Network",
    "greit": "GREIT",
    "laplace": "One step",
    "gauss-newton": "Gauss–Newton",
    "outlines": "Outlines",
    "total-variation": "Total variation",
    "level-set": "Level sets",
    "dbar": "D-bar",
    "dsm": "Direct sampling",
}
"""Methods of the page with their titles there, the best known first."""
SLOW = ("gauss-newton", "outlines", "total-variation", "level-set", "dbar")
"""Those that take half a second or more: the page asks for them one by one, when a drawing is finished."""
_CURRENT, _HEIGHT, _CONTACT = 1e-3, 0.05, 1e-5  # A, m, Ω m²: a laboratory's tank
_CELLS, _MOVING = 80, 48  # a side of an image, and of one of many frames
_OUTLINE, _ARC = 180, 5  # points of a body's outline, and of an electrode's
_REMEMBERED, _KEPT = (
    8,
    4,
)  # tanks that are drawn, and measurements that were read: 16 MB each at most as files
_TOLERANCE, _MOST_NODES = (
    1e-9,
    1200,
)  # of the integral equation, half a second; its time grows with their cube
_THINNEST = 0.06  # of shapes that overlap: finite elements around them take a second


@dataclass(frozen=True)
class Framed:
    """A measurement, the frames of it that are answered, and the truth, where the page knows it."""

    measurement: Measurement
    first: int
    count: int
    truth: Phantom | None = None

    @property
    def part(self) -> Measurement:
        """The frames that are answered."""
        if self.measurement.frames == 1:
            return self.measurement
        last = min(self.first + self.count, self.measurement.frames)
        return self.measurement.selected(range(self.first, last))


def settings() -> dict[str, Any]:
    """What the page must know of tanks before it starts."""
    known = [name for name in METHODS if name != "network" or (weights.SHIPPED / weights.TANK).exists()]
    methods = [{"name": name, "title": METHODS[name], "slow": name in SLOW} for name in known]
    outlines = {name: outline(body) for name, body in BODIES.items()}
    return {"methods": methods, "bodies": outlines, "coverage": COVERAGE, "most": MOST_METHODS}


def answer_tank(drawing: TankDrawing, check: Check) -> dict[str, Any]:
    """Simulate the drawn tank and image it, or write its measurement as a file holds it."""
    start = perf_counter()
    electrodes, pattern = built(drawing.tank)
    _check_light(drawing.phantom, electrodes.body)
    made = simulated(electrodes, pattern, drawing.phantom, _HEIGHT, drawing.snr, seed=drawing.seed)
    seconds = perf_counter() - start
    check()
    if drawing.save:
        return {"file": made.to_dict()}
    truth = drawing.phantom if drawing.phantom.shapes else None
    told = {"seconds": {"forward": seconds}} | _described(made)
    return told | _answer(Framed(made, 0, 1, truth), drawing.methods if truth else (), check)


def answer_files(asked: TankFiles, parts: Sequence[bytes], parse: SafeParser, check: Check) -> dict[str, Any]:
    """Read the files of a measured tank, look at their quality, and image some of the frames."""
    try:
        measurement = _READ.measurement(asked, parts, parse)
    except InputError as error:
        raise InputError(encoding.plain(error)) from None
    check()
    if asked.first >= measurement.frames:
        raise InputError(f"first: there are {measurement.frames} frames, got {asked.first}")
    told = _described(measurement) | (_inspected(measurement) if asked.first == 0 else {})
    check()
    return told | _answer(Framed(measurement, asked.first, asked.count), asked.methods, check)


@dataclass(frozen=True)
class _Read:
    """The last measurements that were read: the frames of one are asked for in parts, and methods know the tank."""

    known: "OrderedDict[bytes, Measurement]" = field(default_factory=OrderedDict)
    lock: Lock = field(default_factory=Lock)

    def measurement(self, asked: TankFiles, parts: Sequence[bytes], parse: SafeParser) -> Measurement:
        """The measurement in these files."""
        said = asked.model_dump_json(include={"files", "reference", "reference_frames", "setup"})
        key = blake2b(b"".join([said.encode(), *parts])).digest()
        with self.lock:
            if key in self.known:
                self.known.move_to_end(key)
                return self.known[key]
        found = _compared(asked, parts, parse)
        with self.lock:
            self.known[key] = found
            while len(self.known) > _KEPT:
                self.known.popitem(last=False)
        return found


_READ = _Read()


def _compared(asked: TankFiles, parts: Sequence[bytes], parse: SafeParser) -> Measurement:
    sent = [*asked.files, *asked.reference]
    found = [Found(parse.found(part, file.name), file.name) for file, part in zip(sent, parts, strict=True)]
    most = len(asked.files)
    measurement = compared(found[:most], asked.setup.setup(), found[most:])
    return measurement.against(slice(0, asked.reference_frames)) if asked.reference_frames else measurement


@cache
def warm_tank() -> None:
    """Image the tank that the page begins with, once in a process: matrices are made, and the network is read."""
    tank = DrawnTank(body="disk", electrodes=16, coverage=0.5, pattern="adjacent")
    ellipse = {"kind": "ellipse", "center": [0.3, 0.2], "semi_axes": [0.3, 0.2]}
    known = [method["name"] for method in settings()["methods"] if not method["slow"]]
    asked = {
        "client": "warm",
        "tank": tank,
        "shapes": [ellipse],
        "snr": 60.0,
        "seed": 1,
        "methods": tuple(known[:2]),
    }
    answer_tank(TankDrawing.model_validate(asked), lambda: None)


@lru_cache(maxsize=_REMEMBERED)
def built(tank: DrawnTank) -> tuple[Electrodes, Pattern]:
    """The electrodes and the pattern of a tank: the same objects for the same words, by which methods know them."""
    electrodes = Electrodes.even(BODIES[tank.body], tank.electrodes, tank.coverage, _CONTACT)
    driven = tank.pattern == "trigonometric"  # all electrodes drive
    return electrodes, Pattern.named(tank.pattern, tank.electrodes, _CURRENT, driven=driven)


def _check_light(phantom: Phantom, body: Domain) -> None:
    """Refuse shapes whose data take seconds: neither solver can be stopped while it factors its matrix."""
    if not phantom.shapes:
        return
    try:
        nodes = len(phantom.shapes) * int(needed_nodes(body, as_batch(phantom), _TOLERANCE))
        heavy = nodes > _MOST_NODES
    except InputError:  # they overlap: finite elements
        heavy = min(map(thickness, phantom.shapes)) < _THINNEST
    if heavy:
        raise InputError(
            "the data of this drawing take too long to compute: draw fewer, thicker or simpler shapes"
        )


def outline(body: Domain) -> list[list[float]]:
    """Points around a body, counter-clockwise."""
    around = torch.arange(_OUTLINE, dtype=torch.float64) * (body.perimeter / _OUTLINE)
    return _rounded(body.place(around))


def _described(measurement: Measurement) -> dict[str, Any]:
    """The body, its electrodes, and what is driven and read."""
    body = measurement.domain
    told: dict[str, Any] = {"body": {"name": body.name, "outline": outline(body)}, "pattern": None}
    if not isinstance(measurement, ElectrodeMeasurement):
        return told | {"electrodes": []}
    row, pattern = measurement.electrodes, measurement.pattern
    along = row.starts[:, None] + row.widths[:, None] * torch.linspace(0, 1, _ARC, dtype=torch.float64)
    arcs = body.place(along.flatten() % body.perimeter).reshape(*along.shape, 2)
    channels = [
        _ends(rows) for rows in (pattern.reading if pattern.reading.ndim == 3 else pattern.reading[None])
    ]
    read = {"drives": _ends(pattern.stimulation), "channels": channels}
    return told | {"electrodes": [_rounded(arc) for arc in arcs], "pattern": read}


def _ends(rows: Tensor) -> list[list[int] | None]:
    """Of rows of one +1 and one -1 the numbers of the two electrodes, from 1; None for other rows."""
    pairs = (rows > 0).sum(-1) + (rows < 0).sum(-1) == 2
    ends = torch.stack([rows.argmax(-1), rows.argmin(-1)], -1) + 1
    return [pair if one else None for pair, one in zip(ends.tolist(), pairs.tolist(), strict=True)]


def _inspected(measurement: Measurement) -> dict[str, Any]:
    """What is wrong with a measurement, as lines for a person."""
    try:
        report = inspect(measurement)
    except InputError as error:
        return {"findings": [], "remarks": [encoding.plain(error)], "facts": {}}
    found = [
        {"kind": one.kind, "text": one.text, "remedy": encoding.plain(one.remedy)} for one in report.findings
    ]
    return {"findings": found, "remarks": list(report.remarks), "facts": report.facts}


def _answer(framed: Framed, methods: Sequence[str], check: Check) -> dict[str, Any]:
    """The readings and an image a frame by each method."""
    part, images = framed.part, []
    for name in methods:
        images.append({"name": name} | _imaged(name, framed, part))
        check()
    times = None if framed.measurement.times is None else framed.measurement.times.tolist()
    frames = {"count": framed.measurement.frames, "first": framed.first, "shown": part.frames, "times": times}
    return {"frames": frames, "readings": _readings(part), "images": images}


def _readings(part: Measurement) -> dict[str, Any] | None:
    """Tables of volts, stimulations by channels, nan where nothing is read: of each frame and of the empty tank."""
    if not isinstance(part, ElectrodeMeasurement):
        return None
    spread = part.pattern.spread
    known = part.baseline
    return {
        "channels": part.pattern.mask.shape[1],
        "frames": encoding.curves(spread(part.voltages).flatten(1)),
        "reference": None if known is None else encoding.curves(spread(known).flatten()[None]),
    }


def _imaged(name: str, framed: Framed, part: Measurement) -> dict[str, Any]:
    """The images of one method, or the reason why there are none."""
    if name not in METHODS:
        raise InputError(f"methods: there is no method {name[:40]!r} here: there are {', '.join(METHODS)}")
    own = weights.TANK if name == "network" and part.domain.name != "square" else None
    options = imaging.Options(model=own, n=_CELLS if part.frames == 1 else _MOVING)
    try:
        found = [*imaging.images(part, name, options)]
    except InputError as error:
        return {"reason": encoding.plain(error)}
    return _shown(found) | {"scores": None if framed.truth is None else _scores(found[0], framed.truth)}


def _shown(found: Sequence[Reconstruction]) -> dict[str, Any]:
    """Images on their way to the page; all frames of a method have one scale of colours."""
    quantity = found[0].quantity
    phases = [one.phases for one in found if one.phases is not None]
    spreads = [one.uncertainty for one in found if one.uncertainty is not None]
    return {
        "quantity": quantity,
        "frames": _fields([one.image for one in found], quantity),
        "uncertainty": [encoding.field(one, 0.0) for one in spreads],
        "sigma": _fields([one.log_sigma for one in phases], "log"),
        "warnings": [[flag.text for flag in one.warnings] for one in found],
        "seconds": sum(one.seconds for one in found) / len(found),
    }


_RANGES = {"sign": (-1.0, 1.0), "probability": (0.0, 1.0), "index": (0.0, 1.0)}


def _fields(images: Sequence[Tensor], quantity: str) -> list[dict[str, Any]]:
    """The images between the ends of their quantity, or of the same distance above and below zero."""
    if not images:
        return []
    most = max(float(image.abs().max()) for image in images) or 1.0
    low, high = _RANGES.get(quantity, (0.0 if quantity == "conductivity" else -most, most))
    return [encoding.field(image, low, high) for image in images]


def _scores(found: Reconstruction, truth: Phantom) -> dict[str, float | None]:
    return scores(found.image, found.quantity, found.domain, truth)._asdict()


def _rounded(points: Tensor) -> list[list[float]]:
    return [[round(x, 4), round(y, 4)] for x, y in points.tolist()]
