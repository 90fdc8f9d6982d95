"""Finite elements against closed forms, exact solvers and another code; identities that hold to rounding."""

import math
from itertools import pairwise

import numpy as np
import pytest
import skfem
import torch
from skfem.helpers import dot
from torch import Tensor

from eitlens.domain import Disk, Square
from eitlens.electrodes import CompleteElectrodeSolver, Electrodes
from eitlens.forward import (
    BoundaryIntegralSolver,
    ElementElectrodeSolver,
    ElementSolver,
    Field,
    GridSolver,
    MeshField,
    currents,
)
from eitlens.phantom import Ellipse, Phantom, Polygon, circle

OFF_CENTRE = [circle((0.3, 0.2), 0.3), circle((-0.3, -0.4), 0.25)]
FAR = Phantom(OFF_CENTRE, [5.0, 0.01])


def neighbours(count: int) -> Tensor:
    """In at each electrode, out at the next."""
    eye = torch.eye(count, dtype=torch.float64)
    return eye - eye.roll(-1, 0)


def tank(electrodes: Electrodes, size: float | None = None) -> ElementElectrodeSolver:
    start = electrodes.starts % electrodes.body.perimeter
    return ElementElectrodeSolver(
        electrodes.body, start, start + electrodes.widths, electrodes.impedance, size
    )


def relative(found: Tensor, expected: Tensor) -> float:
    return float((found - expected).norm() / expected.norm())


COARSE = tank(Electrodes.even(Disk(8), 6, 0.4, 0.05), 0.25)


@pytest.mark.parametrize("impedance", [1e-6, 0.1])
def test_a_tank_of_32_electrodes_at_the_default_size(impedance):
    """The bar of the project: 1e-3 of U - U0 against the exact solver."""
    electrodes, given = Electrodes.even(Disk(8), 32, 0.5, impedance), neighbours(32)
    exact = CompleteElectrodeSolver(BoundaryIntegralSolver(Disk(4)), electrodes, 32).difference(FAR, given)
    assert relative(tank(electrodes).difference(FAR, given), exact) < 1e-3


def test_the_order_with_electrodes():
    """Third order in U - U0, less in U, which has a logarithm at the ends of electrodes."""
    electrodes, given = Electrodes.even(Disk(8), 6, 0.4, 0.1), neighbours(6)
    exact = CompleteElectrodeSolver(BoundaryIntegralSolver(Disk(4)), electrodes, 48)
    errors = []
    for size in (0.2, 0.1):
        found = tank(electrodes, size)
        errors.append(
            [
                relative(found.difference(FAR, given), exact.difference(FAR, given)),
                relative(found.background(given), exact.background(given)),
            ]
        )
    orders = [math.log2(coarse / fine) for coarse, fine in zip(*errors, strict=True)]
    assert orders[0] > 2.5
    assert orders[1] > 1.4
    assert max(errors[1]) < 2e-3


def test_a_good_contact_of_two_electrodes():
    """A rectangle by conformal mapping: K(cos α) / K(sin α) with α = π/4 is 1."""
    found = tank(Electrodes.even(Disk(8), 2, 0.5, 1e-8), 0.1).background(neighbours(2))
    assert float(found[0, 0] - found[0, 1]) == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize("inside", [10.0, 0.1])
def test_the_default_for_continuous_currents(inside):
    square, phantom = (
        Square(200),
        Phantom([Ellipse((0.3, 0.2), (0.15, 0.35), 0.4), circle((-0.4, -0.3), 0.3)], inside),
    )
    given = currents.cosine(square, 3)
    found = ElementSolver(square).difference(phantom, given)
    assert relative(found, BoundaryIntegralSolver(square).difference(phantom, given)) < 1e-3
    assert relative(found, GridSolver(square).difference(phantom, given)) < 2e-3


@pytest.mark.parametrize("count", [255, 256, 399, 400])
def test_any_number_of_boundary_nodes(count):
    """The nodes of the body are found again on the edges of the mesh, at their ends as well as between."""
    solver = ElementSolver(Disk(8, count), 0.3)
    nodes, frame = solver.body.mesh.nodes, solver.body.frame
    found = solver._places()[:, :nodes] @ frame.positions(frame.vertices[None])[0]
    assert float((found - solver.domain.boundary()).abs().max()) < 1e-4


def test_a_concentric_disk():
    """Λ - Λ₁ on cos kθ is 2μ / (1 - μ) / k, μ = (1 - σ)/(1 + σ) r^2k."""
    disk, radius, sigma = Disk(8, 256), 0.6, 20.0
    given = currents.cosine(disk, 3)
    k = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    mu = (1 - sigma) / (1 + sigma) * radius ** (2 * k)
    expected = (2 * mu / (1 - mu) / k)[:, None] * given
    found = ElementSolver(disk).difference(Phantom([circle((0.0, 0.0), radius)], sigma), given)
    assert relative(found, expected) < 3e-4


def test_shapes_that_overlap_and_have_corners_against_the_grid_solver():
    square = Square(128)
    phantom = Phantom(
        [circle((0.1, 0.2), 0.4), Polygon([(-0.6, -0.6), (0.3, -0.5), (-0.2, 0.3)])], [3.0, 0.2]
    )
    given = currents.cosine(square, 2)
    assert (
        relative(
            ElementSolver(square).difference(phantom, given), GridSolver(square).difference(phantom, given)
        )
        < 2e-2
    )


def test_an_image_means_the_same_for_both_solvers():
    square = Square(64)
    x, y = square.nodes().unbind(-1)
    smooth = Field(1 + 0.5 * torch.exp(-4 * ((x - 0.2) ** 2 + y**2)))
    given = currents.cosine(square, 2)
    found = ElementSolver(square).difference(smooth, given)
    assert relative(found, GridSolver(square).difference(smooth, given)) < 3e-3


def independent(solver: ElementElectrodeSolver, sigma: Tensor, given: Tensor) -> Tensor:
    """The same model by scikit-fem: quadratic elements on the same straight mesh, contacts by its own facets."""
    found = solver.body.mesh
    mesh = skfem.MeshTri(found.vertices.T, found.triangles[:, :3].T)
    basis, count = skfem.Basis(mesh, skfem.ElementTriP2()), solver.count
    constant = basis.with_element(skfem.ElementTriP0())
    stiff = skfem.BilinearForm(lambda u, v, w: w.sigma * dot(u.grad, v.grad))
    matrix = stiff.assemble(basis, sigma=constant.interpolate(sigma.numpy())).toarray()
    whole = np.zeros((len(matrix) + count, len(matrix) + count))
    whole[: len(matrix), : len(matrix)] = matrix
    for k in range(count):
        edges = [set(row[:2].tolist()) for row in solver.body.contacts[solver.body.electrode == k]]
        facets = [n for n, ends in enumerate(mesh.facets.T) if set(ends.tolist()) in edges]
        under = skfem.FacetBasis(mesh, skfem.ElementTriP2(), facets=np.array(facets))
        z = float(solver.impedance[k])
        mass = skfem.BilinearForm(lambda u, v, w: u * v).assemble(under).toarray() / z
        load = skfem.LinearForm(lambda v, w: v).assemble(under) / z
        at = len(matrix) + k
        whole[: len(matrix), : len(matrix)] += mass
        whole[at, : len(matrix)] = whole[: len(matrix), at] = -load
        whole[at, at] = load.sum()
    right = np.zeros((len(whole), len(given)))
    right[len(matrix) :] = given.numpy().T
    u = np.linalg.lstsq(whole, right, rcond=None)[0][len(matrix) :].T
    return torch.tensor(u - u.mean(1, keepdims=True))


def test_against_scikit_fem_on_the_same_mesh():
    """On a square, whose sides are straight, and with middles where scikit-fem has them: to rounding."""
    start = torch.tensor([0.4, 2.3, 4.1, 6.5], dtype=torch.float64)
    end = start + torch.tensor([0.8, 1.2, 0.5, 1.0], dtype=torch.float64)
    solver = ElementElectrodeSolver(Square(8), start, end, torch.tensor([0.1, 0.5, 1.0, 0.2]).double(), 0.5)
    body = solver.body
    straight = torch.zeros_like(body.frame.bulge), torch.full_like(body.frame.share, 0.5)
    object.__setattr__(body, "frame", body.frame._replace(bulge=straight[0], share=straight[1]))
    sigma = torch.rand(len(body.mesh.triangles), generator=torch.Generator().manual_seed(0)).double() + 0.3
    given = neighbours(4)
    assert relative(solver.voltages(sigma, given), independent(solver, sigma, given)) < 1e-10


def test_identities_to_rounding():
    """Reciprocity, the scaling of units, zero contrast, and that currents of low rank are combined."""
    eye = torch.eye(6, dtype=torch.float64) - 1 / 6
    z = COARSE.voltages(FAR, eye)
    assert torch.allclose(z, z.T, atol=1e-12)
    assert float(torch.linalg.eigvalsh((z + z.T) / 2)[1:].min()) > 0
    assert torch.allclose(
        COARSE.difference(FAR, neighbours(6)), neighbours(6) @ COARSE.difference(FAR, eye), atol=1e-13
    )
    assert float(COARSE.difference(Phantom(OFF_CENTRE, 2.0, 2.0), eye).abs().max()) == 0
    scaled = ElementElectrodeSolver(Disk(8), COARSE.start, COARSE.end, COARSE.impedance / 7, 0.25)
    tenfold = Phantom(FAR.shapes, [7 * s for s in FAR.inside], 7.0)
    assert torch.allclose(scaled.voltages(tenfold, 7 * eye), z, atol=1e-12)
    sigma = torch.rand(len(COARSE.body.mesh.triangles), dtype=torch.float64) + 0.5
    change = COARSE.voltages(sigma, eye) - COARSE.background(eye)
    assert torch.allclose(COARSE.difference(sigma, eye), change, atol=1e-12)


def test_a_better_conductor_resists_less():
    given = neighbours(6)
    values = [
        (given * COARSE.voltages(Phantom(OFF_CENTRE, s), given)).sum(-1) for s in (1e-3, 0.1, 1.0, 10.0, 1e3)
    ]
    assert all(bool((after < before).all()) for before, after in pairwise(values))


def test_a_small_contrast_keeps_its_digits():
    """U - U0 is linear in a contrast that goes to zero."""
    one, other = (COARSE.difference(Phantom(OFF_CENTRE, 1 + e), neighbours(6)) / e for e in (1e-6, 1e-11))
    assert relative(one, other) < 1e-5


def test_six_orders_of_magnitude_in_one_body():
    """Directly solved: the residual of the reaction shows no loss, and limits are reached."""
    given = neighbours(6)
    extreme = COARSE.voltages(Phantom(OFF_CENTRE, [1e-3, 1e3]), given)
    more = COARSE.voltages(Phantom(OFF_CENTRE, [1e-5, 1e5]), given)
    assert relative(extreme, more) < 1e-2
    z = COARSE.voltages(Phantom(OFF_CENTRE, [1e-3, 1e3]), torch.eye(6, dtype=torch.float64) - 1 / 6)
    assert float((z - z.T).abs().max()) < 1e-11


def test_a_batch_is_its_bodies_and_one_field_has_many_forms():
    given, bodies = neighbours(6), [FAR, Phantom([circle((0.0, 0.0), 0.5)], 3.0, 2.0)]
    together = COARSE.difference(bodies, given)
    for body, found in zip(bodies, together, strict=True):
        assert torch.allclose(COARSE.difference(body, given), found, atol=1e-12)
    mesh = COARSE.body.mesh
    counts = (len(mesh.triangles), len(mesh.vertices), mesh.nodes)
    forms = [torch.full((count,), 3.0, dtype=torch.float64) for count in counts]
    forms += [torch.full((8, 8), 3.0, dtype=torch.float64), torch.full((9, 9), 3.0, dtype=torch.float64)]
    for form in forms:
        assert torch.allclose(COARSE.voltages(form, given), COARSE.background(given, 3.0), atol=1e-12)
        assert float(COARSE.difference(MeshField(form, 3.0), given).abs().max()) < 1e-12
    two = MeshField(torch.stack([forms[0], 2 * forms[0]]), torch.tensor([1.0, 6.0], dtype=torch.float64))
    assert float(COARSE.difference(two, given)[1].abs().max()) < 1e-12


def test_many_electrodes_tend_to_the_continuous_boundary():
    """The voltages of many thin electrodes approach those of points with the same current density."""
    disk, errors = Disk(8, 256), []
    phantom = Phantom([circle((0.3, 0.0), 0.3)], 5.0)
    for count in (16, 32):
        angles = Electrodes.even(Disk(8), count).places
        totals = torch.cos(angles)[None] * (2 * math.pi / count)
        found = tank(Electrodes.even(Disk(8), count, 0.5, 0.01), 0.12).difference(phantom, totals)
        smooth = BoundaryIntegralSolver(disk).difference(phantom, currents.cosine(disk, 1))
        wanted = smooth[:, :: 256 // count]
        errors.append(relative(found, wanted - wanted.mean(-1, keepdim=True)))
    assert errors[1] < 0.5 * errors[0]
    assert errors[1] < 0.03


def test_parts_of_a_batch_that_fit_the_memory(monkeypatch):
    given, values = neighbours(6), torch.rand(5, len(COARSE.body.mesh.triangles), dtype=torch.float64) + 0.5
    whole = COARSE.voltages(values, given)
    monkeypatch.setattr("eitlens.forward.elements.system.chunk_size", lambda size, device: 2)
    assert torch.allclose(COARSE.voltages(values, given), whole, atol=1e-13)
