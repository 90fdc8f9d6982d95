"""Bodies: by the names that files give them, from a file of one's own, and by their outline in metres.

>>> tank = eit.bodies.rectangle(0.3, 0.2, name="tank")
>>> round(tank.scale, 6), round(float(tank.clearance(torch.zeros(2, dtype=torch.float64))), 3)
(0.15, 0.667)
"""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Complex128, Float64
from scipy.interpolate import make_interp_spline
from torch import Tensor

from eitlens import checks
from eitlens.domain.base import Domain
from eitlens.domain.curve import check_simple
from eitlens.domain.disk import Disk
from eitlens.domain.smooth import SmoothBody
from eitlens.domain.square import Square
from eitlens.errors import InputError, prefix_errors
from eitlens.files import read_json, write_json
from eitlens.registry import Registry

SQUARE = Square(200)
"""The body where a file names none: that of the paper, which the trained networks know."""
ROUNDING = 0.05
"""Radius of a rounded corner where none is given, of half the longer side."""
FEWEST_POINTS, MOST_POINTS, MOST_ORDERS = (
    6,
    4096,
    1024,
)  # a spline needs six; more than the others is a mistake
_DEGREE = 5
"""Of the spline through points: its error falls like the sixth power of their distance."""
_FINE = 8192
"""Samples of an outline that become Fourier coefficients, and between which its box is looked for."""
_REST = 1e-11
"""Coefficients that together stay below this part of the largest are left out."""
_CUT = 7.0
"""Standard deviations of a Gaussian beyond which it counts for nothing: exp(-7²/2) is 2e-11."""
_CHEST = (-0.004, -0.01, -0.004, -0.02, 0.014, -0.121, 0.0, 0.847, 0.004, -0.049, 0.006, -0.0115, -0.004)
"""c_-6 … c_6 over i, of a curve drawn by hand, not from a patient: it begins at the breastbone."""
_CHEST_WIDTH = 0.34
"""Metres, of an adult."""


def ellipse(a: float, b: float, name: str = "ellipse") -> SmoothBody:
    """Make the ellipse of the semi-axes a along x and b along y, in metres.

    >>> eit.bodies.ellipse(0.15, 0.1).scale
    0.15
    """
    for value, axis in ((a, "a"), (b, "b")):
        checks.positive_number(value, f"{name}: semi-axis {axis}")
    return fourier([(a - b) / 2, 0.0, (a + b) / 2], name)


def rectangle(
    width: float, height: float, radius: float | None = None, name: str = "rectangle"
) -> SmoothBody:
    """Make a rectangle around the origin, in metres, with rounded corners (see `polygon`)."""
    for value, side in ((width, "width"), (height, "height")):
        checks.positive_number(value, f"{name}: {side}")
    x, y = width / 2, height / 2
    return polygon([(x, -y), (x, y), (-x, y), (-x, -y)], radius, name)


def polygon(
    vertices: Sequence[Sequence[float]], radius: float | None = None, name: str = "polygon"
) -> SmoothBody:
    """Make a polygon by its vertices, in metres, in order and either way round, with rounded corners.

    The outline is the mean of the polygon's with Gaussian weights in arclength, so it is analytic; three radii away
    from a right angle it is off the polygon by two thousandths of the radius. `radius` is the smallest radius of
    curvature at a right angle, and sharper corners have smaller ones; without one it is 5 % of half the longer side.
    """
    z = _points(vertices, name, 3)
    check_simple(z, name)
    box = torch.view_as_real(z)
    least = float((box.amax(0) - box.amin(0)).max()) / 2
    width = checks.positive_number(ROUNDING * least if radius is None else radius, f"{name}: radius")
    edge = z.roll(-1) - z
    ends = torch.cumsum(edge.abs(), 0)
    perimeter = float(ends[-1])
    sigma = width * 2 / math.sqrt(math.pi)  # |z'|² / |z''| at a right angle is σ √π / 2
    count = math.ceil(_CUT * perimeter / (2 * math.pi * sigma))
    if count > MOST_ORDERS:
        smallest = width * count / MOST_ORDERS
        raise InputError(f"{name}: a radius of {width:.3g} is too small: give at least {smallest:.3g}")
    wave = torch.arange(-count, count + 1, dtype=torch.float64) * (2 * math.pi / perimeter)
    turn = torch.polar(
        torch.ones(1, dtype=torch.float64), -wave[:, None] * torch.cat([ends.new_zeros(1), ends])
    )
    # c_k = (1/L) ∫ z exp(-iκs) ds by parts: z' is e_j / |e_j| on edge j.
    direction = edge / edge.abs()
    sums = (turn[:, 1:] - turn[:, :-1]) @ direction
    c = (
        sums
        / (perimeter * torch.where(wave == 0, 1.0, wave).square())
        * torch.exp(-((wave * sigma) ** 2) / 2)
    )
    c[count] = ((z + edge / 2) * edge.abs()).sum() / perimeter
    return fourier(c.tolist(), name)


def through(points: Sequence[Sequence[float]], name: str = "outline") -> SmoothBody:
    """Make the body whose outline runs smoothly through points, in metres, in order and either way round.

    The outline is the periodic spline of degree five in its own arclength. Its error falls like the sixth power of the
    distance between points: 32 points on a circle give it to 2e-9, 64 to 4e-11. Corners belong to `polygon`.
    """
    z = _points(points, name, FEWEST_POINTS)
    check_simple(z, name)
    closed = torch.cat([z, z[:1]]).numpy()
    s = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(closed)))])
    for _ in range(4):  # chords, then arclengths of the spline before: each step gains two orders
        spline = make_interp_spline(
            s / s[-1], np.stack([closed.real, closed.imag], -1), _DEGREE, bc_type="periodic"
        )
        s = _lengths(spline, s / s[-1])
    x, y = spline(np.arange(_FINE) / _FINE).T
    return fourier(_spectrum(torch.from_numpy(x + 1j * y)), name)


def thorax(width: float = _CHEST_WIDTH, name: str = "thorax") -> SmoothBody:
    """Make a chest as a section from below shows it, its front at the top: so wide, in metres, and two thirds as deep.

    >>> eit.bodies.thorax().scale
    0.17
    """
    checks.positive_number(width, f"{name}: width")
    chest = fourier([1j * c for c in _CHEST], name)
    return replace(chest, scale=width / 2)


def fourier(coefficients: Sequence[complex], name: str = "outline") -> SmoothBody:
    """Make the body with the outline Σ_k c_k exp(ikt), k = -K … K, in metres, either way round.

    >>> eit.bodies.fourier([0.02, 0, 0.1], "tank").scale
    0.12
    """
    c = torch.tensor([complex(value) for value in coefficients], dtype=torch.complex128)
    if len(c) < 3 or len(c) % 2 == 0 or not bool(torch.isfinite(c.abs()).all()):
        raise InputError(
            f"{name}: expected finite Fourier coefficients c_-K … c_K, an odd number, got {len(c)}"
        )
    order = torch.arange(len(c), dtype=torch.float64) - len(c) // 2
    if float((c.abs().square() * order).sum()) < 0:  # the area over π: clockwise
        c = c.flip(0)
    low, high = _bounds(c)
    middle, scale = (low + high) / 2, float(torch.view_as_real(high - low).max()) / 2
    if scale <= 0:
        raise InputError(f"{name}: the outline is one point")
    c[len(c) // 2] -= middle
    return SmoothBody(tuple((c / scale).tolist()), name, scale, (float(middle.real), float(middle.imag)))


def load(path: str | Path) -> Domain:
    """Read a body from a JSON file, whose lengths are metres.

    The file has a "name" and one of "points" (the outline runs through them), "polygon" (its corners, rounded by
    "radius" where given), "coefficients" (pairs of numbers, c_-K … c_K), "ellipse" (two semi-axes) or "rectangle"
    (width and height, "radius"). What `save` writes has a "scale" and an "origin" too. A name alone is that of a
    registered body, of which the disk takes its radius as "scale".
    """
    return read_json(
        Path(path), from_dict, 'a body looks like {"name": "tank", "points": [[x, y], …]}, in metres'
    )


def save(body: Domain, path: str | Path) -> None:
    """Write a body to a JSON file; `load` gives the same body, to the last digit."""
    write_json(Path(path), to_dict(body))


def to_dict(body: Domain) -> dict[str, Any]:
    """Return a body as plain JSON values, without its grid; one that is no outline is its name and its size."""
    if not isinstance(body, SmoothBody):
        return {"name": body.name} | ({"scale": body.scale} if body.scale != 1 else {})
    pairs = [[c.real, c.imag] for c in body.coefficients]
    return {"name": body.name, "coefficients": pairs, "scale": body.scale, "origin": list(body.origin)}


def to_text(body: Domain) -> str:
    """Return a body as one string of a file: its name where that says all to whoever reads it, or else its outline."""
    values = to_dict(body)
    known = values.keys() == {"name"} or any(values == to_dict(own) for own in _OWN)
    return body.name if known else json.dumps(values)


def from_text(text: str) -> Domain:
    """Return the body of `to_text`."""
    if not text.startswith("{"):
        BODIES.check("body", text)
        return BODIES[text]
    try:
        return from_dict(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise InputError(f"body: {error}") from None


def chosen(text: str) -> Domain:
    """Return the body that a command line names: a registered one, or that of a .json file, which is registered."""
    if not text.endswith(".json"):
        return from_text(text)
    body = load(text)
    if body.name not in {own.name for own in _OWN}:
        BODIES[body.name] = body
    return body


_FORMS: dict[str, Any] = {
    "points": lambda v, name: through(v["points"], name),
    "polygon": lambda v, name: polygon(v["polygon"], v.get("radius"), name),
    "rectangle": lambda v, name: rectangle(*_pair(v["rectangle"], "rectangle"), v.get("radius"), name),
    "ellipse": lambda v, name: ellipse(*_pair(v["ellipse"], "ellipse"), name),
    "coefficients": lambda v, name: _stored(v, name),
}
_MORE: dict[str | None, set[str]] = {
    None: {"scale"},
    "polygon": {"radius"},
    "rectangle": {"radius"},
    "coefficients": {"scale", "origin"},
}


def from_dict(values: object) -> Domain:
    """Make a body of plain JSON values, each checked."""
    forms = [key for key in _FORMS if isinstance(values, dict) and key in values]
    if not isinstance(values, dict) or len(forms) > 1:
        raise InputError(f"body: expected an object with a 'name' and one of {', '.join(_FORMS)}")
    form = forms[0] if forms else None
    for key in values.keys() - {"name", form} - _MORE.get(form, set()):
        raise InputError(f"body: unknown key {str(key)[:40]!r} beside {form or 'name'!r}")
    name = values.get("name")
    if not isinstance(name, str) or not name:
        raise InputError("body: 'name' is missing or not text: name the body")
    body: Domain = _FORMS[form](values, name) if form else BODIES[name]
    return scaled(body, values["scale"]) if form is None and "scale" in values else body


def scaled(body: Domain, scale: float) -> Domain:
    """Return the body with another unit of its coordinates, in metres: the radius of the disk, half a chest's width."""
    if not isinstance(body, Disk | SmoothBody):
        raise InputError(f"body: the {body.name} has no 'scale': give its outline")
    return replace(body, scale=checks.number(scale, f"{body.name}: scale"))


def _stored(values: dict[str, Any], name: str) -> SmoothBody:
    pairs = checks.physics(values["coefficients"], f"{name}: coefficients")
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise InputError(f"{name}: coefficients: expected pairs of numbers, got {tuple(pairs.shape)}")
    c = torch.view_as_complex(pairs.contiguous()).tolist()
    if "scale" not in values:
        return fourier(c, name)
    with prefix_errors(name):
        scale = checks.number(values["scale"], "scale")
        return SmoothBody(tuple(c), name, scale, _pair(values.get("origin", [0.0, 0.0]), "origin"))


def _pair(value: object, where: str) -> tuple[float, float]:
    given = checks.finite(checks.physics(value, where), where)
    if given.shape != (2,):
        raise InputError(f"{where}: expected two numbers, got {checks.shown(value)}")
    return float(given[0]), float(given[1])


def _points(given: object, name: str, fewest: int) -> Complex128[Tensor, "points"]:
    """Points as complex numbers, without a last one that repeats the first."""
    points = checks.physics(given, f"{name}: points")
    if points.ndim != 2 or points.shape[1] != 2 or not fewest <= len(points) <= MOST_POINTS:
        raise InputError(
            f"{name}: expected {fewest} to {MOST_POINTS} points (x, y), got an array of shape {tuple(points.shape)}"
        )
    checks.finite(points, f"{name}: points")
    z = torch.complex(*points.unbind(-1))
    z = z[:-1] if z[0] == z[-1] else z
    if bool((z == z.roll(1)).any()):
        k = int((z == z.roll(1)).to(torch.int64).argmax())
        raise InputError(f"{name}: point {k} repeats the one before it: give it once")
    return z


def _lengths(spline: Any, knots: Float64[np.ndarray, "knots"]) -> Float64[np.ndarray, "knots"]:
    """Arclength of the spline at its knots, by Gauss's rule of eight points between two of them."""
    nodes, weights = np.polynomial.legendre.leggauss(8)
    width = np.diff(knots)
    u = knots[:-1, None] + width[:, None] * (nodes + 1) / 2
    speed = np.linalg.norm(spline.derivative()(u), axis=-1)
    return np.concatenate([[0.0], np.cumsum((speed @ weights) * width / 2)])


def _spectrum(samples: Complex128[Tensor, "samples"]) -> list[complex]:
    """The coefficients that matter, c_-K … c_K."""
    c = torch.fft.fft(samples) / len(samples)
    both = c[1:].abs() + c[1:].flip(0).abs()
    rest = both[: len(samples) // 2].flip(0).cumsum(0).flip(0)
    count = int((rest > _REST * rest[0]).sum().clamp(1, MOST_ORDERS))
    found: list[complex] = torch.cat([c[-count:], c[: count + 1]]).tolist()
    return found


def _bounds(c: Complex128[Tensor, "coefficients"]) -> tuple[Tensor, Tensor]:
    """The lower left and upper right corner of the box around an outline, by parabolas at the extreme samples."""
    count = len(c) // 2
    spectrum = torch.cat([c[count:], c.new_zeros(_FINE - len(c)), c[:count]])
    points = torch.view_as_real(torch.fft.ifft(spectrum) * _FINE)
    corners = []
    for sign in (-1.0, 1.0):
        found = []
        for values in (sign * points).unbind(-1):
            k = int(values.argmax())
            before, top, after = (float(values[(k + j) % _FINE]) for j in (-1, 0, 1))
            bend = 2 * top - before - after
            found.append(sign * (top + (after - before) ** 2 / (8 * bend) if bend > 0 else top))
        corners.append(torch.tensor(complex(*found), dtype=torch.complex128))
    return corners[0], corners[1]


def _accepted(name: str, thing: object) -> Domain:
    if not isinstance(thing, Domain) or thing.name != name:
        raise InputError(f"body {name!r}: expected an eitlens.Domain whose name is {name!r}, got {thing!r}")
    return thing


_OWN = (SQUARE, Disk(200), thorax())
BODIES: Registry[Domain] = Registry("body", {body.name: body for body in _OWN}, _accepted)


def without_square(values: dict[str, Any]) -> dict[str, Any]:
    """Values for a file, less the body where it is the square: older files have no such key."""
    return {key: value for key, value in values.items() if (key, value) != ("body", SQUARE.name)}
