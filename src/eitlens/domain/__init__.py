"""The body: its grid, its boundary loop, and the solution operators of the Laplacian on it."""

from eitlens.domain.base import ConformalMap, Domain, Extension
from eitlens.domain.square import Square

__all__ = ["ConformalMap", "Domain", "Extension", "Square"]
