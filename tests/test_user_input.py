"""What a user may give: arrays and lists for tensors; what makes no sense is refused in one line."""

from collections.abc import Callable, Iterator
from typing import Any

import jaxtyping
import numpy as np
import pytest
import torch

import eitlens as eit
from eitlens import posterior
from eitlens.electrodes import CompleteElectrodeSolver, Electrodes
from eitlens.errors import InputError
from eitlens.forward.noise import add_white_noise
from eitlens.phantom import Polygon

SQUARE = eit.Square(20)
CURRENTS = eit.currents.cosine(SQUARE, 2)
BODY = eit.Phantom([eit.circle((0.4, 0.3), 0.2)])
SOLVERS = {"integral": eit.BoundaryIntegralSolver(SQUARE), "grid": eit.GridSolver(SQUARE)}
DATA = SOLVERS["integral"].difference(BODY, CURRENTS)


@pytest.fixture(autouse=True)
def as_for_a_user() -> Iterator[None]:
    """Types are checked at run time in the tests alone: here what a user meets without."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("kind", [np.asarray, torch.Tensor.tolist, lambda g: g.float().numpy()])
def test_currents_as_arrays_and_lists(name: str, kind: Callable[[Any], Any]) -> None:
    solver, near = SOLVERS[name], {"rtol": 1e-5, "atol": 1e-6}
    torch.testing.assert_close(
        solver.difference(BODY, kind(CURRENTS)), solver.difference(BODY, CURRENTS), **near
    )
    torch.testing.assert_close(solver.background(kind(CURRENTS)), solver.background(CURRENTS), **near)


def test_totals_of_electrodes_as_arrays_and_lists() -> None:
    solver = CompleteElectrodeSolver(
        eit.BoundaryIntegralSolver(eit.Disk(8, 32)), Electrodes.even(eit.Disk(8, 32), 4)
    )
    totals = torch.tensor([[1.0, -1.0, 0.0, 0.0]], dtype=torch.float64)
    given: Any
    for given in (totals.numpy(), totals.tolist()):
        torch.testing.assert_close(solver.difference(BODY, given), solver.difference(BODY, totals))
        torch.testing.assert_close(solver.background(given), solver.background(totals))


def test_a_conductivity_as_an_array() -> None:
    solver, sigma = eit.GridSolver(SQUARE), np.ones((21, 21))
    sigma[8:12, 8:12] = 3
    exact = solver.difference(torch.from_numpy(sigma), CURRENTS)
    given: Any
    for given in (sigma, eit.Field(sigma), eit.Field(sigma.tolist())):
        torch.testing.assert_close(solver.difference(given, CURRENTS), exact)
    inside: Any = np.array([3.0])
    assert eit.Phantom(BODY.shapes, inside) == eit.Phantom(BODY.shapes, 3.0)


@pytest.mark.parametrize(
    "function",
    [
        lambda values: eit.add_noise(values, 0.1, 1),
        lambda values: eit.add_noise(values, 0.1, 1, np.array([0])),
        lambda values: add_white_noise(values, 30.0, 1),
        lambda values: eit.harmonic_extension(SQUARE, values),
        lambda values: eit.direct_sampling(SQUARE, values),
        eit.currents.project,
    ],
    ids=["noise", "numbered", "white", "extension", "dsm", "project"],
)
def test_boundary_data_as_arrays_and_lists(function: Callable[[Any], torch.Tensor]) -> None:
    torch.testing.assert_close(function(DATA.numpy()), function(DATA))
    torch.testing.assert_close(function(DATA.tolist()), function(DATA))


def test_a_posterior_of_arrays() -> None:
    prior = eit.EllipseSampler(seed=1, count=1)
    few = posterior.Settings(ensembles=2, levels=3, warmup=2, least=1, most=1)
    given: Any = DATA.numpy(), SQUARE, CURRENTS.numpy()
    found = posterior.sample(*given, 0.1, prior, few)
    exact = posterior.sample(DATA, SQUARE, CURRENTS, 0.1, prior, few)
    torch.testing.assert_close(found.misfit, exact.misfit, rtol=0, atol=0)


MISTAKES: list[tuple[Callable[..., Any], tuple[Any, ...], str]] = [
    (
        eit.Phantom,
        (BODY.shapes[0],),
        r"Phantom: expected a list of shapes .*: put it in brackets, Phantom\(\[shape\]\)",
    ),
    (eit.Phantom, ([1, 2],), r"Phantom: expected a list of shapes .*, got \[1, 2\]"),
    (eit.Phantom, (BODY.shapes, "high"), "Phantom: inside: expected real numbers, got <U4"),
    (eit.Ellipse, ((0.3, 0.1), 0.2), "Ellipse: semi_axes: expected two numbers, got 0.2"),
    (eit.Ellipse, ((0.3, 0.1, 2), (0.1, 0.1)), r"Ellipse: center: expected two numbers, got \(0.3, 0.1, 2\)"),
    (eit.Ellipse, ((0.3, 0.1), (0.1, 0.1), "left"), "Ellipse: angle: expected real numbers, got <U4"),
    (Polygon, ([1, 2, 3],), r"Polygon needs at least 3 vertices \(x, y\), got \[1, 2, 3\]"),
    (Polygon, (["ab", "cd", "ef"],), "Polygon: expected real numbers, got <U1"),
    (eit.Square, (200.0,), "Square: cells a side: expected a whole number, got 200.0"),
    (eit.Disk, (200.0,), "Disk: cells a side: expected a whole number, got 200.0"),
    (eit.Disk, (200, "many"), "Disk: boundary nodes: expected a whole number, got 'many'"),
    (eit.GridSolver, (200,), r"GridSolver is for the Square, got 200: write Square\(200\)"),
    (Electrodes.even, (eit.Disk(8), 4.0), "Electrodes: count: expected a whole number, got 4.0"),
    (Electrodes.even, (eit.Disk(8), 4, 0.5, "low"), "Electrodes: impedance: expected real numbers, got <U3"),
    (
        eit.BoundaryIntegralSolver,
        (200,),
        r"BoundaryIntegralSolver: expected a body such as Square\(200\), got 200",
    ),
    (eit.currents.cosine, (SQUARE, 2.5), "currents: count: expected a whole number, got 2.5"),
    (
        SOLVERS["grid"].difference,
        (BODY, CURRENTS * 1j),
        "currents: expected real numbers, got torch.complex128",
    ),
    (eit.add_noise, (DATA.numpy() * 1j, 0.1, 1), "boundary data: expected real numbers, got complex128"),
]


@pytest.mark.parametrize(("make", "given", "message"), MISTAKES)
def test_mistakes_get_one_line(make: Callable[..., Any], given: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=rf"^{message}$"):
        make(*given)
