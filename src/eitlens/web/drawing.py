"""From a drawing to its boundary data."""

from dataclasses import dataclass
from functools import lru_cache

from eitlens.domain import Square
from eitlens.forward import automatic, currents
from eitlens.forward.base import Data
from eitlens.phantom import Phantom

BODY = Square(200)
"""The page is about this body: it draws a square, and its networks were trained on these 4 × 200 boundary nodes."""
_REMEMBERED = 64  # drawings: noise and networks change more often than shapes


@dataclass(frozen=True)
class Simulated:
    """Boundary data f - f0 (L, 4 × 200) without noise, and how they were computed."""

    difference: Data
    solver: str


@lru_cache(maxsize=_REMEMBERED)
def simulate(phantom: Phantom, count: int) -> Simulated:
    """The data for cos lθ, l = 1 … count; seen again with other noise, they are not computed again."""
    g = currents.cosine(BODY, count)
    difference, solver = automatic.simulate(phantom, BODY, g, automatic.QUICK)
    return Simulated(difference, solver.replace("-", " "))
