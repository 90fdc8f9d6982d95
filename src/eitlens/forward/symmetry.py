"""The symmetries of the body as augmentation, where the currents allow it.

Let s, one of the eight rotations and reflections of a square grid, map the body to itself. If u solves the
problem for (σ, g) then u ∘ s⁻¹ solves it for (σ ∘ s⁻¹, g ∘ s⁻¹). If the currents are closed under s, G ∘ s⁻¹ = A G
with an L × L matrix A, the data of the moved phantom for the *same* currents are

    (f - f0)' = A⁻¹ ((f - f0) ∘ s⁻¹),

exactly, without another simulation. cos lθ allows four of the eight (x → -x gives A = diag((-1)^l)); cos and
sin in pairs allow all.
"""

from dataclasses import dataclass
from functools import lru_cache

import torch
from jaxtyping import Float64, Int64, Shaped
from torch import Tensor

from eitlens import random
from eitlens.domain import Domain
from eitlens.domain.base import CPU
from eitlens.forward.base import Currents, Data
from eitlens.forward.currents import CurrentsConfig
from eitlens.random import mixed

# s as a signed permutation: (swap x and y first, sign of x, sign of y), in names a reader knows.
ELEMENTS: dict[str, tuple[bool, int, int]] = {
    "identity": (False, 1, 1),
    "mirror x": (False, -1, 1),
    "mirror y": (False, 1, -1),
    "turn 180°": (False, -1, -1),
    "mirror diagonal": (True, 1, 1),
    "turn 90°": (True, -1, 1),
    "turn 270°": (True, 1, -1),
    "mirror antidiagonal": (True, -1, -1),
}
_EXACT, _SNAP = 1e-9, 1e-9  # of the currents, of coordinates: far above rounding, far below a cell


@dataclass(frozen=True)
class Symmetries:
    """The symmetries some currents are closed under, as gathers on the boundary loop and on the grid."""

    names: tuple[str, ...]
    loop: Int64[Tensor, "elements boundary"]
    """Boundary node s⁻¹(x_k) for each k."""
    grid: Int64[Tensor, "elements nodes"]
    """Flat grid node s⁻¹(x) for each x."""
    mixing: Float64[Tensor, "elements currents currents"]
    """A⁻¹."""

    def choose(self, seed: int, epoch: int, index: Int64[Tensor, "samples"]) -> Int64[Tensor, "samples"]:
        """The number of the symmetry of each sample: uniform, a pure function of (seed, epoch, index)."""
        u = random.uniform(mixed(seed, "symmetry", epoch), index, 1)[:, 0]
        return (u * len(self.names)).long()

    def move_data(self, difference: Data, choice: Int64[Tensor, "samples"]) -> Data:
        """The boundary differences of the moved phantoms."""
        places = self.loop[choice][:, None].expand_as(difference)
        return self.mixing[choice] @ torch.gather(difference, -1, places)

    def move_image(
        self, image: Shaped[Tensor, "samples nx ny"], choice: Int64[Tensor, "samples"]
    ) -> Shaped[Tensor, "samples nx ny"]:
        """The masks, or other images, of the moved phantoms."""
        return torch.gather(image.flatten(1), 1, self.grid[choice]).reshape(image.shape)

    @property
    def inverses(self) -> tuple[int, ...]:
        """The number of the inverse of each symmetry."""
        grid = self.grid.cpu()
        back = [torch.argsort(one) for one in grid]
        return tuple(next(j for j, other in enumerate(grid) if torch.equal(one, other)) for one in back)


@lru_cache(maxsize=16)
def symmetries(domain: Domain, currents: CurrentsConfig, device: torch.device = CPU) -> Symmetries:
    """The symmetries of the body that these currents are closed under; the identity always is."""
    given, places = currents.build(domain), (domain.boundary(), domain.nodes().flatten(0, 1))
    found: dict[str, tuple[Tensor, ...]] = {}
    for name, element in ELEMENTS.items():
        loop, grid = (_inverse(points, element) for points in places)
        mixing = None if loop is None or grid is None else _mixing(given, loop)
        if loop is not None and grid is not None and mixing is not None:
            found[name] = loop, grid, mixing
    return Symmetries(tuple(found), *(torch.stack(p).to(device) for p in zip(*found.values(), strict=True)))


def _mixing(
    currents: Currents, loop: Int64[Tensor, "boundary"]
) -> Float64[Tensor, "currents currents"] | None:
    """A⁻¹ with A the solution of G ∘ s⁻¹ = A G, or None when there is no exact one."""
    moved = currents[:, loop]
    A = torch.linalg.lstsq(currents.T, moved.T).solution.T
    if float((A @ currents - moved).abs().max()) > _EXACT * float(currents.abs().max()):
        return None
    inverse: Tensor = torch.linalg.inv(A)
    return inverse


def _inverse(
    points: Float64[Tensor, "points 2"], element: tuple[bool, int, int]
) -> Int64[Tensor, "points"] | None:
    """Number of s⁻¹(x) for each point x; None where s does not map the points onto themselves.

    s(x, y) = (±p, ±q) with (p, q) = (x, y) or (y, x); its inverse undoes the signs, then the swap.
    """
    swap, *signs = element
    moved = points * points.new_tensor(signs)
    here, there = (_key(places) for places in (points, moved.flip(-1) if swap else moved))
    order = here.argsort()
    found = order[torch.searchsorted(here[order], there).clamp(max=len(order) - 1)]
    return found if torch.equal(here[found], there) else None


def _key(points: Float64[Tensor, "points 2"]) -> Int64[Tensor, "points"]:
    """One whole number a point, equal for points that differ by rounding."""
    x, y = torch.round(points / _SNAP).long().unbind(-1)
    return (x << 32) + y
