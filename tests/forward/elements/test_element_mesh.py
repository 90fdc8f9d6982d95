"""Meshes: quality, ends of electrodes, bodies that are not convex, and what a mesh that follows a phantom keeps."""

import math

import numpy as np
import pytest
import torch

from eitlens.domain import Disk
from eitlens.errors import InputError
from eitlens.forward.elements import ElementElectrodeSolver, ElementSolver
from eitlens.forward.elements.interfaces import fit
from eitlens.forward.elements.mesh import mesh
from eitlens.forward.elements.quadratic import at_points, metric, points, tangents
from eitlens.phantom import Ellipse, Phantom, Polygon, circle, stack

CROSS = [
    (-1, -3),
    (1, -3),
    (1, -1),
    (3, -1),
    (3, 1),
    (1, 1),
    (1, 3),
    (-1, 3),
    (-1, 1),
    (-3, 1),
    (-3, -1),
    (-1, -1),
]

SLIT = [(0, 0), (1, 0), (1, 1), (0.501, 1), (0.501, 0.2), (0.499, 0.2), (0.499, 1), (0, 1)]


def outline(corners: list[tuple[float, float]], step: float) -> np.ndarray:
    """Points about `step` apart along a polygon."""
    ends = np.array(corners, dtype=float)
    parts = []
    for a, b in zip(ends, np.roll(ends, -1, 0), strict=True):
        count = math.ceil(np.linalg.norm(b - a) / step)
        parts.append(a + (b - a) * (np.arange(count) / count)[:, None])
    return np.concatenate(parts)


def electrodes(count: int, coverage: float, impedance: float, size: float) -> ElementElectrodeSolver:
    pitch = 2 * math.pi / count
    start = torch.arange(count, dtype=torch.float64) * pitch
    contact = torch.full((count,), impedance, dtype=torch.float64)
    return ElementElectrodeSolver(Disk(8), start, start + coverage * pitch, contact, size)


@pytest.mark.parametrize("step", [0.5, 0.25])
def test_a_cross_is_meshed_whole(step):
    boundary = outline(CROSS, step)
    found = mesh(boundary, np.arange(len(boundary), dtype=float), 0.5)
    corners = found.vertices[found.triangles[:, :3]]
    u, v = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    areas = (u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]) / 2
    assert (areas > 0).all()
    assert areas.sum() == pytest.approx(20.0, rel=1e-12)
    assert found.quality() > 20
    assert (
        len(found.vertices) - len(found.edges) + len(found.triangles) == 1
    )  # Euler: no holes, nothing twice


def test_a_mesh_is_the_same_every_time_and_after_rounding():
    boundary = outline(CROSS, 0.5)
    s = np.arange(len(boundary), dtype=float)
    one, again, moved = (mesh(b, s, 0.5) for b in (boundary, boundary.copy(), boundary * (1 + 1e-15)))
    assert (one.vertices == again.vertices).all()
    assert (one.triangles == moved.triangles).all()


def test_sizes_far_from_each_other_still_give_good_triangles():
    found = electrodes(8, 0.05, 0.1, 0.3).body.mesh
    assert found.quality() > 12
    lengths = np.linalg.norm(np.diff(found.vertices[found.edges], axis=1), axis=2)
    assert lengths.max() / lengths.min() > 25


def test_the_ends_of_electrodes_are_vertices_and_their_edges_have_their_length():
    tank = electrodes(6, 0.4, 0.1, 0.3)
    mesh_ends = tank.body.mesh.arclength
    for end in torch.cat([tank.start, tank.end]):
        assert np.abs(mesh_ends - float(end)).min() < 1e-12
    positions = tank.body.frame.positions(tank.body.frame.vertices[None])[0]
    assert float(positions[: tank.body.mesh.boundary].norm(dim=-1).sub(1).abs().max()) < 1e-7


def area(positions: torch.Tensor, triangles: torch.Tensor) -> torch.Tensor:
    (a, b), (c, d) = tangents(positions, triangles)
    return (a * d - b * c) * points()[1]


def test_the_curved_triangles_fill_the_disk():
    errors = []
    for size in (0.2, 0.1):
        frame = electrodes(6, 0.4, 0.1, size).body.frame
        found = area(frame.positions(frame.vertices[None]), frame.triangles)
        errors.append(abs(float(found.sum()) / math.pi - 1))
    assert errors[1] < 2e-5
    assert errors[0] / errors[1] > 6


def test_a_fitted_mesh_has_the_area_of_the_shapes():
    """To third order or better, for shapes of any place; nothing folds."""
    solver, errors = electrodes(6, 0.4, 0.1, 0.3), []
    shapes = [Ellipse((0.3, 0.1), (0.3, 0.4), 0.5), circle((-0.4, 0.2), 0.25), circle((-0.2, -0.5), 0.3)]
    batch = stack([Phantom([shape]) for shape in shapes])
    for size in (0.16, 0.08):
        solver = electrodes(6, 0.4, 0.1, size)
        frame = solver.body.frame
        positions = fit(frame, batch)
        sigma = batch.conductivity(at_points(positions, frame.triangles).flatten(1, 2))
        weights = area(positions, frame.triangles)
        assert float(weights.min()) > 0
        found = (weights * (sigma.view(weights.shape) > 1)).sum((1, 2))
        exact = torch.tensor([float(shape.area(shape.parameters())) for shape in shapes], dtype=torch.float64)
        errors.append(float(((found - exact) / exact).abs().max()))
    assert errors[1] < 3e-4
    assert errors[0] / errors[1] > 8


def test_any_shapes_leave_a_valid_mesh():
    """Overlaps, three materials, corners, thin shapes and one at the boundary: no triangle folds."""
    shapes = [
        circle((0.2, 0.2), 0.4),
        Ellipse((0.1, -0.1), (0.6, 0.03), 0.3),
        Polygon([(-0.6, -0.6), (0.2, -0.5), (-0.3, 0.4)]),
    ]
    batch = stack([Phantom(shapes, [5.0, 1e-3, 1e3]), Phantom([circle((0.0, 0.69), 0.3)], 2.0)])
    frame = electrodes(8, 0.5, 0.1, 0.12).body.frame
    positions = fit(frame, batch)
    assert float(area(positions, frame.triangles).min()) > 0
    assert bool(torch.isfinite(metric(positions, frame.triangles)).all())


@pytest.mark.parametrize(
    ("start", "end", "impedance"),
    [
        ([0.0, 1.0], [1.2, 2.0], [0.1, 0.1]),
        ([0.0, 1.0], [1.0, 2.0], [0.1, 0.1]),
        ([0.0, 1.0], [0.5, 7.0], [0.1, 0.1]),
        ([0.0, 1.0], [0.5, 1.0], [0.1, 0.1]),
        ([0.0, 9.0], [0.5, 9.5], [0.1, 0.1]),
        ([0.0, 1.0], [0.5, 1.5], [0.1, 0.0]),
        ([0.0, 1.0], [0.5, 1.5], [0.1, float("nan")]),
        ([0.0], [0.5], [0.1]),
    ],
)
def test_electrodes_that_cannot_be_are_refused(start, end, impedance):
    with pytest.raises(InputError):
        ElementElectrodeSolver(
            Disk(8), *(torch.tensor(x, dtype=torch.float64) for x in (start, end, impedance))
        )


def test_other_bad_input_is_refused_before_any_work():
    with pytest.raises(InputError):
        ElementSolver(Disk(8), size=-1.0)
    tank = electrodes(4, 0.5, 0.1, 0.5)
    balanced = torch.tensor([[1.0, -1.0, 0.0, 0.0]], dtype=torch.float64)
    for currents in (balanced[:, :3], balanced + 1, balanced * float("nan")):
        with pytest.raises(InputError):
            tank.background(currents)
    for conductivity in (
        torch.ones(7).double(),
        torch.zeros(len(tank.body.mesh.triangles)).double(),
        Phantom([circle((0.9, 0.0), 0.3)]),
    ):
        with pytest.raises(InputError):
            tank.voltages(conductivity, balanced)
    with pytest.raises(InputError):
        tank.jacobian(torch.ones(2, len(tank.body.mesh.triangles)).double(), balanced, balanced)
    with pytest.raises(InputError):
        mesh(np.array(SLIT), np.arange(8.0), 0.1)
