"""The disk: Fourier series against closed forms, and that what is above `domain` takes it as it takes the square."""

from types import SimpleNamespace

import pytest
import torch

import eitlens as eit
from eitlens.domain import Disk
from eitlens.errors import InputError
from eitlens.forward import GridSolver
from eitlens.forward.currents import CurrentsConfig, project
from eitlens.forward.symmetry import symmetries
from eitlens.phantom import indicator


@pytest.mark.parametrize("count", [16, 17])
@pytest.mark.parametrize(
    ("wave", "order"),
    [*((torch.cos, order) for order in (1, 2, 5, 8)), *((torch.sin, order) for order in (1, 2, 5, 7))],
)
def test_a_wave_on_the_circle_is_a_power_of_z_in_the_disk(count, wave, order):
    disk = Disk(20, count)
    values = wave(order * disk.angle())
    phi, dx, dy = disk.extend_with_gradient(values + 3.0)
    x, y = disk.nodes().unbind(-1)
    z = torch.complex(x, y)
    turned = 1.0 if wave is torch.cos else -1j
    power, slope = turned * z**order / order, turned * z ** (order - 1)
    inside = z.abs() <= 1 + 1e-12
    for field, expected in ((phi, power.real), (dx, slope.real), (dy, -slope.imag)):
        torch.testing.assert_close(field, torch.where(inside, expected, 0.0), rtol=0, atol=1e-13)
    torch.testing.assert_close(disk.extend(values), phi, rtol=0, atol=1e-13)
    torch.testing.assert_close(disk.background(values + 3.0), values / order, rtol=0, atol=1e-13)


def test_the_grid_of_the_disk_is_that_of_the_square_and_its_loop_the_circle():
    disk = Disk(8, 12)
    torch.testing.assert_close(disk.nodes(), eit.Square(8).nodes())
    assert disk.shape == (9, 9)
    torch.testing.assert_close(disk.boundary().norm(dim=-1), torch.ones(12, dtype=torch.float64))
    assert disk.boundary_weight * 12 == pytest.approx(disk.perimeter)
    points = torch.tensor([[0.0, 0.5], [0.9, 0.9]], dtype=torch.float64)
    assert (disk.clearance(points) > 0).tolist() == [True, False]


def test_batches_of_boundary_values():
    disk = Disk(10, 32)
    values = torch.randn(2, 3, 32, dtype=torch.float64)
    assert disk.extend(values).shape == (2, 3, 11, 11)
    torch.testing.assert_close(disk.extend(values)[1, 2], disk.extend(values[1, 2]))


def test_the_map_of_a_body_is_symmetric_and_that_of_an_empty_one_divides_by_the_order():
    disk = Disk(8, 64)
    phantom = eit.Phantom([eit.Ellipse((0.2, -0.3), (0.2, 0.4), 0.3)], 10.0)
    whole = eit.NeumannToDirichlet(eit.BoundaryIntegralSolver(disk), phantom)
    torch.testing.assert_close(whole.matrix, whole.matrix.T, rtol=0, atol=1e-9)
    empty = (whole.matrix - whole.difference_matrix) @ project(torch.cos(3 * disk.angle()))
    torch.testing.assert_close(empty, torch.cos(3 * disk.angle()) / 3, rtol=0, atol=1e-12)


def test_from_a_body_in_the_disk_to_its_classical_image():
    disk = Disk(64, 128)
    phantom = eit.Phantom([eit.circle((0.3, -0.4), 0.2)], 10.0)
    currents = eit.currents.cosine(disk, 3)
    data = eit.BoundaryIntegralSolver(disk).difference(phantom, currents)
    assert eit.harmonic_extension(disk, data, gradient=True).shape == (9, 65, 65)
    image = eit.direct_sampling(disk, data)
    assert bool((image[~disk.inside()] == 0).all())
    inclusion = indicator(disk, phantom).bool()
    assert float(image[inclusion].mean()) > 1.5 * float(image[disk.inside()].mean())


def test_theorem_1_in_the_disk():
    disk, center = Disk(64, 128), torch.tensor([0.3, -0.4], dtype=torch.float64)
    phantom = eit.Phantom([eit.circle((0.3, -0.4), 0.2)], 10.0)
    pairs = eit.NeumannToDirichlet(eit.BoundaryIntegralSolver(disk), phantom).eigenpairs(16)
    index = eit.index_function(eit.picard_sum(disk, pairs))
    brightest = disk.nodes()[index > index.flatten().quantile(0.98)]
    assert float((brightest - center).norm(dim=-1).max()) < 0.22
    assert bool((index[~disk.inside()] == 0).all())


@pytest.mark.parametrize("domain", [eit.Square(16), Disk(16, 40)])
def test_boundary_nodes_are_where_they_are_located_and_another_grid_is_of_the_same_body(domain):
    torch.testing.assert_close(domain.locate(domain.boundary()), domain.arclength())
    torch.testing.assert_close(
        domain.locate(1.01 * domain.boundary()), domain.arclength(), rtol=0, atol=0.011
    )
    finer = domain.at(20)
    assert (finer.shape, finer.name, finer.perimeter) == ((21, 21), domain.name, domain.perimeter)
    nodes = torch.tensor(domain.corners) / domain.boundary_weight
    assert nodes.tolist() == ([0, 16, 32, 48] if domain.corners else [])


@pytest.mark.parametrize(("count", "expected"), [(32, 8), (30, 4), (31, 2)])
def test_its_symmetries_are_those_of_its_nodes(count, expected):
    found = symmetries(Disk(16, count), CurrentsConfig("trigonometric", 2))
    assert len(found.names) == expected


def test_what_a_disk_cannot_be():
    with pytest.raises(InputError, match=r"2 cells .*n=1"):
        Disk(1)
    with pytest.raises(InputError, match=r"Square, got Disk.*ElementSolver"):
        GridSolver.__post_init__(SimpleNamespace(domain=Disk(8)))
