"""The D-bar equation, from the scattering transform to the conductivity.

With m = e^{-ikz} ψ, for each point z of the body by itself,

    ∂m/∂k̄ = t(k) / (4πk̄) e_{-z}(k) m̄,    e_{-z}(k) = e^{-i(kz + k̄z̄)},    m → 1 as k → ∞,        σ(z) = m(z, 0)².

Where t is cut off at |k| = R, the regularisation, this is the integral equation

    m(s) = 1 + (1/π) ∫_{|k|<R} T(k) m̄(k) / (s - k) dk,        T = t e_{-z} / (4πk̄),

linear over the real numbers, not the complex ones. It is solved on a square grid of k of step h: the integral is a
convolution, done by FFT on a grid twice as wide (no wrap-around), 1/0 in the kernel is 0, its mean over the cell, and
the points at |k| = R count with the part of their cell that is within. GMRES takes 5 to 10 steps, for many z at once.
The error is of second order in h.

References: K. Knudsen, J. Mueller, S. Siltanen, J. Comput. Phys. 198 (2004); G. Vainikko, in Direct and Inverse
Problems of Mathematical Physics (2000), for the convolution.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Complex128, Float64
from torch import Tensor

from eitlens.errors import ConvergenceError
from eitlens.memory import chunk_size

_TOLERANCE, _MOST = 1e-5, 60  # of the residual; steps, of which truncated t of noisy data need a few more
_VECTORS = 24  # of a point z: the Krylov basis and what the FFT needs
_AT_ONCE = 128  # points z: more do not fit a cache, and gain nothing
Points = Complex128[Tensor, "points"]


class Grid(NamedTuple):
    """Values of k within the cut-off, with their places on the grid of the FFT.

    Attributes:
        k: the values.
        share: of each one's cell within |k| < R.
        place: of each in the (2M)² grid, flat.
        kernel: the transform of h² / (πk) on that grid.
    """

    k: Points
    share: Float64[Tensor, "points"]
    place: Tensor
    kernel: Complex128[Tensor, "wide wide"]


def grid(radius: float, count: int, device: torch.device) -> Grid:
    """`count` points, an even number, across the disk |k| < R; k = 0 is one of them."""
    step = 2 * radius / count
    line = torch.arange(-count, count, dtype=torch.float64, device=device) * step
    k = torch.complex(*torch.meshgrid(line, line, indexing="ij"))
    kernel = torch.where(k == 0, 0.0, step**2 / torch.pi / torch.where(k == 0, 1.0, k))
    share = ((radius - k.abs()) / step + 0.5).clamp(0, 1).flatten()
    place = torch.nonzero(share > 0).flatten()
    return Grid(k.flatten()[place], share[place], place, torch.fft.fft2(torch.fft.ifftshift(kernel)))


def solve(t: Points, points: Grid, z: Complex128[Tensor, "pixels"]) -> Complex128[Tensor, "pixels"]:
    """m(z, 0) at each z, for t at the points of the grid.

    >>> points = grid(4.0, 16, torch.device("cpu"))
    >>> solve(torch.zeros_like(points.k), points, torch.zeros(1, dtype=torch.complex128)).real
    tensor([1.], dtype=torch.float64)
    """
    size = 16 * (_VECTORS * len(points.k) + 4 * points.kernel.numel())
    parts = torch.split(z, min(_AT_ONCE, chunk_size(size, z.device)))
    return torch.cat([_solved(t, points, part) for part in parts])


def _solved(t: Points, points: Grid, z: Complex128[Tensor, "pixels"]) -> Complex128[Tensor, "pixels"]:
    k = points.k
    factor = torch.where(k == 0, 0.0, points.share * t / (4 * torch.pi * torch.where(k == 0, 1.0, k.conj())))
    turn = -2 * (k * z[:, None]).real
    density = factor * torch.polar(torch.ones_like(turn), turn)

    def apply(m: Complex128[Tensor, "pixels points"]) -> Tensor:
        wide = m.new_zeros(len(m), points.kernel.numel())
        wide[:, points.place] = density * m.conj()
        field = torch.fft.ifft2(torch.fft.fft2(wide.view(-1, *points.kernel.shape)) * points.kernel)
        return torch.sub(m, field.flatten(1)[:, points.place])

    found: Tensor = _gmres(apply, torch.ones_like(density))[:, int(k.abs().argmin())]
    return found


def _gmres(
    apply: Callable[[Tensor], Tensor], right: Complex128[Tensor, "pixels points"]
) -> Complex128[Tensor, "pixels points"]:
    """Solve real-linear systems, one a row, from the start `right`: Arnoldi with the real inner product."""
    rest = right - apply(right)
    size = _norm(rest)
    basis, columns = [rest / size.clamp(min=1e-300)[:, None]], []
    target = torch.zeros(len(right), 1, dtype=torch.float64, device=right.device)
    target[:, 0] = size
    for step in range(1, _MOST + 1):
        vector = apply(basis[-1])
        column = []
        for known in basis:
            column.append((known.conj() * vector).real.sum(1))
            vector = vector - column[-1][:, None] * known
        length = _norm(vector)
        columns.append(torch.stack([*column, length], 1))
        target = torch.nn.functional.pad(target, (0, 1))
        matrix = torch.stack([torch.nn.functional.pad(c, (0, step + 1 - c.shape[1])) for c in columns], 2)
        weight = torch.linalg.lstsq(matrix, target[..., None]).solution
        left = (matrix @ weight - target[..., None]).flatten(1).norm(dim=1)
        if bool((left <= _TOLERANCE * _norm(right)).all()):
            return right + torch.einsum("bk,kbp->bp", weight[..., 0].to(right.dtype), torch.stack(basis))
        basis.append(vector / length.clamp(min=1e-300)[:, None])
    raise ConvergenceError(
        f"the D-bar equation did not converge in {_MOST} steps: cut t off at a smaller radius"
    )


def _norm(vectors: Complex128[Tensor, "pixels points"]) -> Float64[Tensor, "pixels"]:
    size: Tensor = torch.linalg.vector_norm(torch.view_as_real(vectors).flatten(1), dim=1)
    return size
