"""The direct sampling method."""

import math
import statistics

import pytest
import torch
from torch import Tensor

from eitlens.classical import direct_sampling, probing_tensor
from eitlens.domain import Square
from eitlens.errors import InputError
from eitlens.evaluate.ranking import area_under_curve
from eitlens.forward import BoundaryIntegralSolver, currents
from eitlens.phantom import EllipseSampler, Phantom, circle, indicator

SQUARE = Square(100)
SMALL = Square(40)
DISK = BoundaryIntegralSolver(SMALL).difference(
    Phantom([circle((0.3, -0.2), 0.2)]), currents.trigonometric(SMALL, 4)
)
# |η_x| in H^{3/2} at nodes of Square(100) for d = (1, 0), from an independent dipole solve by finite
# elements.
PUBLISHED = {(0.0, 0.0): 0.625, (-0.4, 0.3): 1.139, (0.5, -0.6): 2.51, (-0.7, 0.0): 3.84}


def node(square: Square, x: float, y: float) -> tuple[int, int]:
    return round((x + 1) / square.h), round((y + 1) / square.h)


def tensor_at(square: Square, x: float, y: float, s: float = 1.5) -> Tensor:
    xx, xy, yy = (entry[node(square, x, y)] for entry in probing_tensor(square, s))
    return torch.stack([torch.stack([xx, xy]), torch.stack([xy, yy])])


def dipole_norm(square: Square, x: float, y: float, d: complex, s: float) -> float:
    """|η_x|_H^s from the dipole's trace in closed form, -(1/π) Re[ζ'(x) d / (ζ(x) - ζ_k)], and its FFT."""
    electrodes = square.conformal_map(square.boundary()).value
    at = square.conformal_map(torch.tensor([x, y], dtype=torch.float64))
    trace = -(at.first * d / (at.value - electrodes)).real / math.pi
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
    xx, xy, yy = probing_tensor(SMALL)
    determinant = xx * yy - xy**2
    assert bool((xx > 0).all())
    assert bool((determinant > 0)[:, 1:-1].all())
    assert bool((determinant > 0)[1:-1].all())
    torch.testing.assert_close(xx, yy.T)
    torch.testing.assert_close(xx, xx.flip(0))
    torch.testing.assert_close(xy, -xy.flip(0), rtol=0, atol=1e-7 * float(xx.amax()))


def test_the_index_is_the_gradient_over_the_size_of_the_dipole_along_it() -> None:
    """The definition, with the direction d = ∇φ/|∇φ| written out."""
    _, dx, dy = SMALL.extend_with_gradient(DISK)
    length = torch.hypot(dx, dy)
    d = torch.stack([dx, dy], -1) / length[..., None]
    xx, xy, yy = probing_tensor(SMALL)
    size = (xx * d[..., 0] ** 2 + 2 * xy * d[..., 0] * d[..., 1] + yy * d[..., 1] ** 2).sqrt()
    norm = (SMALL.boundary_weight * DISK.square().sum(-1)).sqrt()[:, None, None]
    torch.testing.assert_close(direct_sampling(SMALL, DISK), (length / size / norm).mean(0))


def test_the_index_is_an_attention_kernel() -> None:
    """With q = δ/|∇φ|, k = δ and v = M^{1/2} δ acting on x = ∇φ, the index is (q·k)/|v| for one current."""
    inner = (slice(1, -1), slice(1, -1))
    _, dx, dy = SMALL.extend_with_gradient(DISK[0])
    x = torch.stack([dx[inner], dy[inner]], -1)
    xx, xy, yy = (entry[inner] for entry in probing_tensor(SMALL))
    matrix = torch.stack([torch.stack([xx, xy], -1), torch.stack([xy, yy], -1)], -1)
    value = torch.einsum("ijab,ijb->ija", torch.linalg.cholesky(matrix).mT, x)
    query, key = x / x.norm(dim=-1, keepdim=True), x
    # Both query and value carry the length of x: the ratio does not depend on how long it is.
    index = (query * key).sum(-1) * x.norm(dim=-1) / value.norm(dim=-1) / SMALL.boundary_norm(DISK[0])
    torch.testing.assert_close(direct_sampling(SMALL, DISK[:1])[inner], index)


def test_the_index_points_at_a_disk() -> None:
    truth = indicator(SMALL, Phantom([circle((0.3, -0.2), 0.2)]))
    assert area_under_curve(direct_sampling(SMALL, DISK), truth) > 0.9
    assert area_under_curve(direct_sampling(SMALL, DISK, s=0.0), truth) > 0.99


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
    scores = [area_under_curve(i, t) for i, t in zip(direct_sampling(square, data), truth, strict=True)]
    assert 0.68 < statistics.median(scores) < 0.84


def test_no_inclusion_gives_a_black_image() -> None:
    assert not bool(direct_sampling(SMALL, torch.zeros(2, 160, dtype=torch.float64)).any())
    both = direct_sampling(SMALL, torch.stack([torch.zeros_like(DISK[:2]), DISK[:2]]))
    assert not bool(both[0].any())
    assert bool(torch.isfinite(both).all())


def test_gamma_applies_the_boundary_laplacian() -> None:
    """On one Fourier mode it multiplies φ by κ^{2γ}, and so the index."""
    mode = currents.arclength(SMALL, 6)[4:5]
    kappa = 2 * math.pi * 3 / 8
    plain, twice = direct_sampling(SMALL, mode), direct_sampling(SMALL, mode, gamma=0.5)
    torch.testing.assert_close(twice, kappa * plain)


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
