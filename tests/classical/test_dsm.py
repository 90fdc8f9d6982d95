"""The direct sampling method."""

import math
import statistics

import pytest
import torch
from torch import Tensor

from eitlens.classical import direct_sampling, probing
from eitlens.domain import Disk, Domain, Square
from eitlens.errors import InputError
from eitlens.evaluate.metrics import area_under_curve
from eitlens.forward import BoundaryIntegralSolver, currents
from eitlens.phantom import EllipseSampler, Phantom, circle, indicator

SQUARE = Square(100)
SMALL = Square(40)
ROUND = Disk(100)
DISK = BoundaryIntegralSolver(SMALL).difference(
    Phantom([circle((0.3, -0.2), 0.2)]), currents.trigonometric(SMALL, 4)
)
# |η_x| in H^{3/2} at nodes of Square(100) for d = (1, 0), from an independent dipole solve by finite
# elements.
PUBLISHED = {(0.0, 0.0): 0.625, (-0.4, 0.3): 1.139, (0.5, -0.6): 2.51, (-0.7, 0.0): 3.84}


def node(body: Domain, x: float, y: float) -> tuple[int, int]:
    half = (body.shape[0] - 1) / 2
    return round((x + 1) * half), round((y + 1) * half)


def tensor(square: Square, s: float = 1.0, modes: int = 16) -> tuple[Tensor, Tensor, Tensor]:
    return probing(square, s, modes=modes)[2:]


def tensor_at(square: Square, x: float, y: float, s: float = 1.5) -> Tensor:
    xx, xy, yy = (entry[node(square, x, y)] for entry in tensor(square, s, 60))
    return torch.stack([torch.stack([xx, xy]), torch.stack([xy, yy])])


def dipole(body: Domain, x: float, y: float, d: complex) -> Tensor:
    """The trace of a dipole in closed form, -(1/π) Re[ζ'(x) d / (ζ(x) - ζ_k)]."""
    electrodes = body.conformal_map(body.boundary()).value
    at = body.conformal_map(torch.tensor([x, y], dtype=torch.float64))
    return currents.project(-(at.first * d / (at.value - electrodes)).real / math.pi)


def dipole_norm(square: Square, x: float, y: float, d: complex, s: float) -> float:
    """|η_x|_H^s from the dipole's trace and its FFT."""
    trace = dipole(square, x, y, d)
    size, length = square.boundary_size, square.perimeter
    kappa = 2 * math.pi / length * torch.arange(size // 2 + 1, dtype=torch.float64)
    energy = 2 * (torch.fft.rfft(trace).abs() / size) ** 2 * length
    return float((kappa ** (2 * s) * energy)[1:].sum().sqrt())


def test_the_probing_tensor_at_the_centre_is_isotropic() -> None:
    found = tensor_at(SQUARE, 0.0, 0.0)
    torch.testing.assert_close(found, 0.391 * torch.eye(2, dtype=torch.float64), rtol=2e-3, atol=1e-12)
    assert math.sqrt(float(found[0, 0])) == pytest.approx(0.625, rel=1e-3)


@pytest.mark.parametrize("point", PUBLISHED)
def test_the_size_of_a_dipole_at_points_known_from_elsewhere(point: tuple[float, float]) -> None:
    assert math.sqrt(float(tensor_at(SQUARE, *point)[0, 0])) == pytest.approx(PUBLISHED[point], rel=3e-3)


@pytest.mark.parametrize("s", [0.0, 0.5, 1.5])
@pytest.mark.parametrize("point", [(0.0, 0.0), (-0.4, 0.3), (0.5, -0.6), (-0.7, 0.0), (0.8, 0.8)])
def test_reciprocity_gives_the_size_of_the_dipole(point: tuple[float, float], s: float) -> None:
    """An independent way to the same number: the dipole's own trace, by the conformal map."""
    matrix = tensor_at(SQUARE, *point, s)
    for turn in (0.0, 0.7, 1.9):
        d = torch.tensor([math.cos(turn), math.sin(turn)], dtype=torch.float64)
        expected = dipole_norm(SQUARE, *point, complex(*d.tolist()), s)
        assert math.sqrt(float(d @ matrix @ d)) == pytest.approx(
            expected, rel=1e-3 if max(point) < 0.8 else 3e-3
        )


def test_the_probing_tensor_is_positive_and_has_the_symmetry_of_the_square() -> None:
    """At a corner both fluxes are the one value of its node: there and only there the tensor is singular."""
    xx, xy, yy = tensor(SMALL, 1.5, 60)
    determinant = xx * yy - xy**2
    assert bool((xx > 0).all())
    assert bool((determinant > 0)[:, 1:-1].all())
    assert bool((determinant > 0)[1:-1].all())
    torch.testing.assert_close(xx, yy.T)
    torch.testing.assert_close(xx, xx.flip(0))
    torch.testing.assert_close(xy, -xy.flip(0), rtol=0, atol=1e-7 * float(xx.amax()))


def test_the_index_is_the_gradient_over_the_size_of_the_dipole_along_it() -> None:
    """The definition, with the direction d = ∇φ/|∇φ| written out."""
    e, kappa = currents.arclength(SMALL, 32), 2 * math.pi / 8 * torch.arange(1, 17).repeat_interleave(2)
    parts = SMALL.boundary_weight * DISK @ e.mT
    _, dx, dy = SMALL.extend_with_gradient((parts * kappa**2) @ e)
    length = torch.hypot(dx, dy)
    d = torch.stack([dx, dy], -1) / length[..., None]
    xx, xy, yy = tensor(SMALL)
    size = (xx * d[..., 0] ** 2 + 2 * xy * d[..., 0] * d[..., 1] + yy * d[..., 1] ** 2).sqrt()
    norm = (parts * kappa).norm(dim=-1)[:, None, None]
    torch.testing.assert_close(direct_sampling(SMALL, DISK), (length / size / norm).mean(0))


def test_the_index_is_an_attention_kernel() -> None:
    """With q = δ/|∇φ|, k = δ and v = M^{1/2} δ acting on x = ∇φ, the paper's index is (q·k)/|v| for one current."""
    inner = (slice(1, -1), slice(1, -1))
    _, dx, dy = SMALL.extend_with_gradient(DISK[0])
    x = torch.stack([dx[inner], dy[inner]], -1)
    xx, xy, yy = (entry[inner] for entry in tensor(SMALL, 1.5, 60))
    matrix = torch.stack([torch.stack([xx, xy], -1), torch.stack([xy, yy], -1)], -1)
    value = torch.einsum("ijab,ijb->ija", torch.linalg.cholesky(matrix).mT, x)
    query, key = x / x.norm(dim=-1, keepdim=True), x
    # Both query and value carry the length of x: the ratio does not depend on how long it is.
    size = SMALL.boundary_weight**0.5 * DISK[0].norm()
    index = (query * key).sum(-1) * x.norm(dim=-1) / value.norm(dim=-1) / size
    found = direct_sampling(SMALL, DISK[:1], s=1.5, gamma=0.0, modes=60)
    torch.testing.assert_close(found[inner], index, rtol=1e-5, atol=1e-8)


def test_the_index_points_at_a_disk() -> None:
    truth = indicator(SMALL, Phantom([circle((0.3, -0.2), 0.2)]))
    index = direct_sampling(SMALL, DISK)
    assert area_under_curve(index, truth) > 0.99
    assert bool(truth.flatten()[index.argmax()])
    assert float(index.max()) > 0.99
    assert 0.8 < area_under_curve(direct_sampling(SMALL, DISK, s=1.5, gamma=0.0), truth) < 0.95


@pytest.mark.parametrize("s", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("point", [(0.0, 0.0), (0.5, 0.5), (-0.3, 0.6), (0.76, -0.2)])
def test_with_equal_exponents_a_dipole_is_seen_where_it_is(point: tuple[float, float], s: float) -> None:
    """A correlation: nowhere above 1; 1 at the dipole on the disk, where M is isotropic, nearly so on the square."""
    for body, least, away in ((ROUND, 1 - 1e-6, 0), (SQUARE, 0.96, 2 if s else 4)):
        for d in (1, 1j, 0.6 + 0.8j):
            index = direct_sampling(body, dipole(body, *point, d)[None], s, s)
            assert float(index.max()) <= 1 + 1e-9
            assert float(index[node(body, *point)]) > least
            assert math.dist(divmod(int(index.argmax()), 101), node(body, *point)) <= away


def test_noise_beyond_the_modes_is_not_seen() -> None:
    rough = currents.arclength(SMALL, 40)[32:].sum(0)
    torch.testing.assert_close(direct_sampling(SMALL, DISK + rough), direct_sampling(SMALL, DISK))


def test_the_size_of_the_data_does_not_matter_and_a_batch_is_a_loop() -> None:
    expected = direct_sampling(SMALL, DISK)
    torch.testing.assert_close(
        direct_sampling(SMALL, torch.stack([DISK, -5 * DISK])), torch.stack([expected] * 2)
    )


def test_the_median_quality_on_four_ellipses() -> None:
    square = Square(64)
    batch = EllipseSampler(seed=6, disjoint=True).batch(0, 8)
    data = BoundaryIntegralSolver(square, tolerance=1e-6).difference(batch, currents.cosine(square, 3))
    truth = indicator(square, batch)
    for exponents, low, high in (((1.5, 0.0, 60), 0.68, 0.84), ((1.0, 1.0, 16), 0.86, 0.94)):
        images = direct_sampling(square, data, *exponents)
        scores = [area_under_curve(*both) for both in zip(images, truth, strict=True)]
        assert low < statistics.median(scores) < high


def test_no_inclusion_gives_a_black_image() -> None:
    assert not bool(direct_sampling(SMALL, torch.zeros(2, 160, dtype=torch.float64)).any())
    both = direct_sampling(SMALL, torch.stack([torch.zeros_like(DISK[:2]), DISK[:2]]))
    assert not bool(both[0].any())
    assert bool(torch.isfinite(both).all())


def test_gamma_weighs_the_frequencies() -> None:
    """On one Fourier mode the product grows by κ^{2γ} and the size by κ^γ, and so the index by κ^γ."""
    mode = currents.arclength(SMALL, 6)[4:5]
    kappa = 2 * math.pi * 3 / 8
    plain, twice = (direct_sampling(SMALL, mode, gamma=gamma, modes=16) for gamma in (0.0, 0.5))
    torch.testing.assert_close(twice, kappa**0.5 * plain)


def test_the_papers_index_takes_all_frequencies_unless_told_otherwise() -> None:
    """16 of them make it more than twice as large next to the boundary."""
    whole = direct_sampling(SMALL, DISK, s=1.5, gamma=0.0)
    torch.testing.assert_close(whole, direct_sampling(SMALL, DISK, 1.5, 0.0, 79))
    few = direct_sampling(SMALL, DISK, 1.5, 0.0, 16)
    near = SMALL.clearance(SMALL.nodes()) < 0.11
    assert float((few / whole)[near].median()) > 2
    torch.testing.assert_close(direct_sampling(SMALL, DISK), direct_sampling(SMALL, DISK, modes=16))
    torch.testing.assert_close(
        direct_sampling(Disk(8, 20), DISK[:, ::8]), direct_sampling(Disk(8, 20), DISK[:, ::8], modes=9)
    )


def test_bad_input_is_refused() -> None:
    with pytest.raises(InputError, match=r"^modes: expected 1 to 79 on this boundary, got 80$"):
        direct_sampling(SMALL, DISK, modes=80)
    with pytest.raises(
        InputError, match=r"^f - f0: expected 160 boundary values .*got 156: were the corners dropped\?$"
    ):
        direct_sampling(SMALL, DISK[:, :156])
    with pytest.raises(InputError, match=r"^f - f0: 640 of 640 values are NaN or infinite.*$"):
        direct_sampling(SMALL, DISK * torch.nan)
    with pytest.raises(
        InputError, match=r"^f - f0: expected \(currents, boundary\) values, got shape \(0, 160\)$"
    ):
        direct_sampling(SMALL, torch.zeros(0, 160, dtype=torch.float64))
