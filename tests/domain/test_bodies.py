"""Bodies by their outline: the numerical Riemann map against closed forms, the Neumann problem, files, bad outlines."""

import json
import math
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

import eitlens as eit
from eitlens.domain import Disk, Domain, SmoothBody, Square, bodies
from eitlens.domain.curve import closed_curve
from eitlens.domain.smooth import centre
from eitlens.errors import InputError

sys.path.insert(0, str(Path(__file__).parents[1] / "doors"))
from pear import SCALE, A, Pear

sys.path.pop(0)
for names in (
    sys.modules,
    eit.registered("body"),
    eit.registered("sampler"),
):  # as if it had not been imported
    for name in {"pear", "in-the-pear"} & names.keys():
        del names[name]

PEAR = SmoothBody((0, 0, 0, 1 / SCALE, A / SCALE), "smooth-pear", n=32, boundary_nodes=128)
L_SHAPE = [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)]


def flat(n: int = 32, ratio: float = 0.6) -> SmoothBody:
    return bodies.ellipse(1.0, ratio).at(n)


def inside(body: Domain, count: int = 400, margin: float = 0.0) -> Tensor:
    points = 2 * torch.rand(4 * count, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) - 1
    return points[body.clearance(points) > margin][:count]


def near(found: Tensor, expected: Tensor, bar: float) -> None:
    torch.testing.assert_close(found, expected, rtol=0, atol=bar)


def theta(v: Tensor, q: float) -> Tensor:
    """ϑ₁ / ϑ₄ of nome q."""
    one = sum(2 * (-1) ** k * q ** ((k + 0.5) ** 2) * torch.sin((2 * k + 1) * v) for k in range(12))
    return one / (1 + sum(2 * (-1) ** k * q ** (k * k) * torch.cos(2 * k * v) for k in range(1, 12)))


@pytest.mark.parametrize("ratio", [0.9, 0.6, 0.3])
def test_the_map_of_an_ellipse_is_schwarzs(ratio: float) -> None:
    """ζ = √k sn(2K/π arcsin(z/c)) with the nome ((a - b)/(a + b))², up to the boundary and on it."""
    body, q, c = flat(32, ratio), ((1 - ratio) / (1 + ratio)) ** 2, math.sqrt(1 - ratio**2)
    points = torch.cat([inside(body), body.boundary()])
    z = torch.complex(*points.unbind(-1))
    near(body.conformal_map(points).value, theta(torch.asin(z / c), q), 1e-11)


def test_the_pear_is_the_pear_of_closed_form() -> None:
    exact = Pear(32)
    points = inside(exact)
    middle = torch.tensor([centre(PEAR.coefficients)], dtype=torch.complex128)
    one, own = exact.conformal_map(points), exact.conformal_map(torch.view_as_real(middle))
    moved = (one.value - own.value) / (1 - own.value.conj() * one.value)  # the middle goes to 0
    turn = own.first.abs() / own.first
    near(PEAR.conformal_map(points).value, moved * turn, 1e-12)
    values = torch.randn(2, 128, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    smooth = torch.fft.irfft(torch.fft.rfft(values)[..., :20], 128)
    assert PEAR.perimeter == pytest.approx(exact.perimeter, rel=1e-14)
    near(PEAR.boundary(), exact.boundary(), 1e-13)
    near(PEAR.background(smooth), exact.background(smooth), 1e-11)
    for found, expected in zip(
        PEAR.extend_with_gradient(smooth), exact.extend_with_gradient(smooth), strict=True
    ):
        there = (PEAR.nodes() != 0).any(-1)  # at the origin the pear divides by zero
        near(found[..., there], expected[..., there], 1e-10)
    outer = points[exact.clearance(points) < 0.3]  # well off the middle, from where two feet are equally near
    near(PEAR.clearance(outer), exact.clearance(outer), 1e-12)
    edge = 1.01 * exact.boundary()[1:]
    near(PEAR.locate(edge), exact.locate(edge), 1e-12)


def test_a_body_of_a_circles_points_is_the_disk() -> None:
    disk = Disk(24, 128)
    body = replace(bodies.through(Disk(2, 64).boundary().tolist()), n=24, boundary_nodes=128)
    values = torch.cos(3 * disk.angle())[None] + torch.sin(disk.angle())
    near(body.boundary(), disk.boundary(), 1e-9)
    near(body.background(values), disk.background(values), 1e-9)
    for found, expected in zip(
        body.extend_with_gradient(values), disk.extend_with_gradient(values), strict=True
    ):
        near(found, expected, 1e-9)
    points = inside(disk)
    near(body.conformal_map(points).value, disk.conformal_map(points).value, 1e-9)
    phantom = eit.Phantom([eit.Ellipse((0.3, 0.2), (0.2, 0.4), 0.3)], 10.0)
    currents = eit.currents.cosine(disk, 3)
    found, expected = (eit.BoundaryIntegralSolver(one).difference(phantom, currents) for one in (body, disk))
    near(found, expected, 1e-8)


@pytest.mark.parametrize(
    ("body", "nodes", "bar"),
    [
        (bodies.ellipse(0.3, 0.1), 256, 1e-9),
        (bodies.thorax(), 256, 1e-10),
        (bodies.rectangle(0.3, 0.2, 0.03), 512, 1e-9),
        (bodies.polygon(L_SHAPE, 0.2), 512, 1e-8),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_the_neumann_problem(body: SmoothBody, nodes: int, bar: float) -> None:
    """The flux of Re z and Im z³ gives back these functions: on the boundary, on the grid, and their slopes."""
    body = replace(body, n=20, boundary_nodes=nodes)
    w = torch.complex(*body.boundary().unbind(-1))
    grid, there = torch.complex(*body.nodes().unbind(-1)), body.inside()
    along = torch.fft.ifft(torch.fft.fft(w) * 1j * torch.fft.fftfreq(nodes, 1 / nodes, dtype=torch.float64))
    normal = -1j * along / along.abs()
    for power, factor in ((1, 1), (3, -1j)):
        flux = (factor * power * w ** (power - 1) * normal).real
        level = (factor * w**power).real.mean()
        near(body.background(flux), (factor * w**power).real - level, bar)
        phi, dx, dy = body.extend_with_gradient(flux)
        slope = factor * power * grid ** (power - 1)
        near(phi[there], (factor * grid**power).real[there] - level, bar)
        near(dx[there], slope.real[there], 100 * bar)
        near(dy[there], -slope.imag[there], 100 * bar)
        assert bool((phi[~there] == 0).all())


def test_slopes_of_the_map_are_those_of_autograd() -> None:
    body = flat()
    points = inside(body, 50, 0.02).requires_grad_()
    image = body.conformal_map(points)
    for function, derivative in ((image.value, image.first), (image.first, image.second)):
        real = torch.autograd.grad(function.real.sum(), points, retain_graph=True)[0]
        imag = torch.autograd.grad(function.imag.sum(), points, retain_graph=True)[0]
        near(torch.complex(real[:, 0], imag[:, 0]), derivative.detach(), 1e-10)
        near(torch.complex(imag[:, 1], -real[:, 1]), derivative.detach(), 1e-10)
    step = 1e-6
    ahead, behind = (
        body.conformal_map(points.detach() + torch.tensor([s, 0.0])).first for s in (step, -step)
    )
    near(image.second.detach(), (ahead - behind) / (2 * step), 1e-7)


def test_the_map_of_the_rounded_square_comes_near_that_of_the_square() -> None:
    errors = []
    points = 0.6 * inside(Square(8))
    for radius in (0.2, 0.1, 0.05):
        body = bodies.rectangle(2.0, 2.0, radius)
        turn = body.conformal_map(torch.zeros(2, dtype=torch.float64)).first
        difference = (
            body.conformal_map(points).value * turn.abs() / turn - Square(8).conformal_map(points).value
        )
        errors.append(float(difference.abs().max()))
    assert errors[0] > 3.5 * errors[1] > 3.5**2 * errors[2]
    assert errors[-1] < 1e-3


@pytest.mark.parametrize("body", [Square(16), Disk(16, 40), Pear(16), flat(16), bodies.thorax().at(16)])
def test_places_along_the_boundary(body: Domain) -> None:
    near(body.place(body.arclength()), body.boundary(), 1e-12)
    s = body.perimeter * torch.tensor([0.013, 0.4, 0.77], dtype=torch.float64)
    near(body.locate(body.place(s)), s, 1e-9)
    assert float(body.clearance(body.place(s)).abs().max()) < 1e-9


def test_reconstruction_in_a_thorax() -> None:
    """Boundary integrals, φ and direct sampling take the body as it is; the object is where it was put."""
    body, place = bodies.thorax().at(64), torch.tensor([-0.45, 0.1], dtype=torch.float64)
    phantom = eit.Phantom([eit.circle((-0.45, 0.1), 0.12)], 10.0)
    data = eit.BoundaryIntegralSolver(body).difference(phantom, eit.currents.cosine(body, 4))
    image = eit.direct_sampling(body, data)
    brightest = body.nodes().flatten(0, 1)[image.argmax()]
    assert float((brightest - place).norm()) < 0.06
    assert eit.harmonic_extension(body, data, gradient=True).shape == (12, 65, 65)
    form = data @ eit.currents.cosine(body, 4).T
    near(form, form.T, 1e-8)


def test_the_radius_of_a_corner() -> None:
    body = bodies.rectangle(2.0, 2.0, 0.1)
    curve = closed_curve(body.coefficients)
    t = torch.linspace(0, 2 * math.pi, 20_001, dtype=torch.float64)
    first, second = curve.place(t, 1), curve.place(t, 2)
    bend = (first.conj() * second).imag / first.abs() ** 3
    assert float(1 / bend.max()) * body.scale == pytest.approx(0.1, rel=1e-5)
    corner = torch.tensor([[1.0, 0.7], [0.7, 1.0]], dtype=torch.float64)
    assert 0 < -float(body.clearance(corner).max()) < 0.0025


def test_metres() -> None:
    tank = bodies.polygon([(1.0, 2.0), (1.4, 2.0), (1.4, 2.2), (1.0, 2.2)], 0.01)
    assert (tank.scale, *tank.origin) == pytest.approx((0.2, 1.2, 2.1))
    assert tank.perimeter * tank.scale == pytest.approx(1.2, rel=0.03)  # less what the corners save
    near(tank.boundary().amax(0), torch.tensor([1.0, 0.5], dtype=torch.float64), 1e-3)
    reversed_ = bodies.polygon([(1.0, 2.2), (1.4, 2.2), (1.4, 2.0), (1.0, 2.0)], 0.01)
    assert reversed_.clearance(torch.zeros(2, dtype=torch.float64)) > 0.49


@pytest.mark.parametrize(
    "body",
    [
        bodies.ellipse(0.3, 0.123),
        bodies.thorax(),
        bodies.polygon(L_SHAPE),
        Disk(200, scale=0.115),
        Square(200),
    ],
)
def test_files(body: Domain, tmp_path: Path) -> None:
    bodies.save(body, tmp_path / "body.json")
    assert bodies.load(tmp_path / "body.json") == body


def test_files_by_hand(tmp_path: Path) -> None:
    file, circle = tmp_path / "tank.json", (0.1 * Disk(2, 40).boundary()).tolist()
    for values, scale in (
        ({"points": circle}, 0.1),
        ({"polygon": [[0, 0], [0.4, 0], [0, 0.4]], "radius": 0.02}, None),
        ({"rectangle": [0.4, 0.3]}, 0.2),
        ({"ellipse": [0.2, 0.1]}, 0.2),
        ({"coefficients": [[0, 0], [0, 0], [0.1, 0]]}, 0.1),
    ):
        file.write_text(json.dumps({"name": "tank"} | values))
        body = bodies.load(file)
        assert body.name == "tank"
        assert scale is None or body.scale == pytest.approx(scale)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"name": "x", "points": [[0, 0], [1, 1], [1, 0], [0, 1], [-1, 2], [-1, 0]]}, "crosses itself"),
        ({"name": "x", "polygon": [[0, 0], [1, 1], [1, 0], [0, 1]]}, "crosses itself"),
        ({"name": "x", "coefficients": [[0.0, 0], [1, 0], [0, 0], [0, 0], [1, 0]]}, "crosses itself"),
        ({"name": "x", "points": [[0, 0], [1, 1]]}, "expected 6 to"),
        ({"name": "x", "points": [[0, 0], [0, 0], [1, 0], [1, 1], [0.5, 2], [0, 1]]}, "repeats"),
        ({"name": "x", "polygon": [[0, 0], [1, 0], [0, 1]], "radius": 1e-6}, "too small"),
        ({"name": "x", "points": [[0, 0]], "colour": 1}, "unknown key 'colour'"),
        ({"points": [[0, 0]]}, "name the body"),
        ({"name": "moon"}, "no body is called 'moon'"),
        ({"name": "x", "ellipse": [1, -1]}, "must be positive"),
        ({"name": "x", "coefficients": [[1, 0], [0, 0]]}, "an odd number"),
        ([1], "expected an object"),
    ],
)
def test_what_is_no_body(values: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        bodies.from_dict(values)


def test_a_needle_is_refused_by_its_map() -> None:
    with pytest.raises(InputError, match="too thin"):
        bodies.ellipse(1.0, 0.004).conformal_map(torch.zeros(2, dtype=torch.float64))
