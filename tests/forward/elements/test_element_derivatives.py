"""Derivatives: against finite differences, against each other, and against electrodes and shapes that really move."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from eitlens.domain import Disk
from eitlens.forward import ElementElectrodeSolver, ElementSolver, currents
from eitlens.forward.elements.sweep import factorise, substitute
from eitlens.forward.elements.system import assemble
from eitlens.phantom import Ellipse, Phantom, PhantomBatch, stack

START = torch.arange(4, dtype=torch.float64) * math.pi / 2 + 0.1
END = START + torch.tensor([0.4, 0.5, 0.3, 0.45], dtype=torch.float64)
CONTACT = torch.tensor([0.01, 0.02, 0.05, 0.1], dtype=torch.float64)
TANK = ElementElectrodeSolver(Disk(8, 64), START, END, CONTACT, 0.4)
EYE = torch.eye(4, dtype=torch.float64)
CURRENTS = EYE - EYE.roll(-1, 0)
SIGMA = torch.rand(len(TANK.body.mesh.triangles), generator=torch.Generator().manual_seed(0)).double() + 0.5


def test_in_everything_at_once_by_finite_differences():
    def voltages(sigma: Tensor, *geometry: Tensor) -> Tensor:
        start, end, contact, outline, given = geometry
        return TANK.moved(start, end, contact, outline).voltages(sigma, given)

    arguments = [SIGMA, START, END, CONTACT, Disk(8, 64).boundary(), CURRENTS]
    given = [part.clone().requires_grad_() for part in arguments]
    # Currents of zero sum only: what they lack is not the solver's to answer.
    given[-1].requires_grad_(False)
    assert torch.autograd.gradcheck(voltages, given, atol=1e-6, rtol=1e-4, fast_mode=True)


@pytest.mark.parametrize("what", ["voltages", "difference"])
def test_in_shapes_and_their_conductivity(what):
    tank = ElementElectrodeSolver(Disk(8, 64), START, END, CONTACT, 0.15)
    batch = stack([Phantom([Ellipse((0.2, 0.1), (0.3, 0.4), 0.3)], 5.0)])
    (group,) = batch.groups

    def voltages(rows: Tensor, inside: Tensor, outside: Tensor) -> Tensor:
        changed = PhantomBatch((replace(group, parameters=rows, inside=inside),), outside)
        found: Tensor = getattr(tank, what)(changed, CURRENTS)
        return found

    given = [x.clone().requires_grad_() for x in (group.parameters, group.inside, batch.outside)]
    assert torch.autograd.gradcheck(voltages, given, atol=1e-6, rtol=1e-3, eps=1e-7, fast_mode=True)


def test_continuous_currents():
    solver = ElementSolver(Disk(8, 64), 0.4)
    sigma = torch.ones(len(solver.body.mesh.triangles), dtype=torch.float64).requires_grad_()
    given = currents.cosine(solver.domain, 2).requires_grad_()
    function = lambda sigma: solver.difference(sigma, given.detach())  # noqa: E731
    assert torch.autograd.gradcheck(function, (sigma + 0.3,), atol=1e-7, fast_mode=True)
    solver.difference(1 + SIGMA[: len(sigma)].new_ones(len(sigma)), given).square().sum().backward()
    assert float(given.grad.abs().max()) > 0


@pytest.mark.parametrize("shape", ["triangles", "vertices", "nodes", (8, 8), (9, 9)])
def test_the_jacobian_is_that_of_autograd_and_its_operators(shape):
    mesh = TANK.body.mesh
    counts = {"triangles": len(mesh.triangles), "vertices": len(mesh.vertices), "nodes": mesh.nodes}
    size = (counts[shape],) if isinstance(shape, str) else shape
    values = 1 + 0.1 * torch.rand(size, generator=torch.Generator().manual_seed(1)).double()
    readings = EYE - 1 / 4
    derivative = TANK.jacobian(values, CURRENTS, readings)
    matrix = derivative.matrix()
    expected = torch.func.jacrev(lambda x: TANK.voltages(x, CURRENTS))(values)
    assert torch.allclose(matrix, expected, atol=1e-11 * float(expected.abs().max()))
    change, weights = torch.rand_like(values), torch.rand(4, 4, dtype=torch.float64)
    assert torch.allclose(derivative.jvp(change), torch.tensordot(matrix, change, len(size)), atol=1e-13)
    assert torch.allclose(derivative.vjp(weights), torch.tensordot(weights, matrix, 2), atol=1e-13)


def test_the_derivative_in_a_place_is_that_of_electrodes_that_move():
    """Against new meshes for electrodes a little further on."""
    tank = ElementElectrodeSolver(Disk(8), START, END, CONTACT, 0.12)
    step = torch.zeros(4, dtype=torch.float64)
    step[0] = 0.04
    ends = [
        ElementElectrodeSolver(Disk(8), START + s * step, END + s * step, CONTACT, 0.12).background(CURRENTS)
        for s in (1, -1)
    ]
    uniform = torch.ones(len(tank.body.mesh.triangles), dtype=torch.float64)
    slope = torch.func.jacrev(lambda s: tank.moved(START + s, END + s).voltages(uniform, CURRENTS))(step * 0)
    expected = (ends[0] - ends[1]) / 0.08
    assert float((slope[..., 0] - expected).norm() / expected.norm()) < 1e-2


def test_the_solution_solves_the_system():
    """A u = load to rounding, with σ over six orders of magnitude and contacts of 1e-6."""
    tank = TANK.moved(impedance=torch.full((4,), 1e-6, dtype=torch.float64))
    sigma = 10 ** (6 * torch.rand(2, len(SIGMA), dtype=torch.float64) - 3)
    from eitlens.forward.elements.conductivity import read

    body = tank.body
    bodies = read(tank.domain, body, sigma, sigma.device)
    whole = assemble(body, body.tree, body.frame, bodies, 1 / tank.impedance).whole
    tree, load = body.tree, torch.zeros(2, body.tree.unknowns, 2, dtype=torch.float64)
    load[:, -4:] = CURRENTS[:2].T
    u = substitute(tree, factorise(tree, whole), load)
    dense, start = torch.zeros(2, tree.unknowns, tree.unknowns, dtype=torch.float64), 0
    for members in (tree.members, tree.extras, torch.zeros(1, 1, dtype=torch.int64)):
        rows = members[:, :, None].expand(-1, -1, members.shape[1]).flatten()
        columns = members[:, None].expand(-1, members.shape[1], -1).flatten()
        entries = whole[:, start : start + len(rows)]
        dense.view(2, -1).index_add_(1, rows * tree.unknowns + columns, entries)
        start += len(rows)
    residual = (dense @ u - load).abs().amax(1) / (dense.abs() @ u.abs()).amax(1)
    assert float(residual.max()) < 1e-13
