"""The body: its grid, its boundary loop, and the solution operators of the Laplacian on it."""

from eitlens.domain.base import ConformalMap, Domain, Extension
from eitlens.domain.disk import Disk
from eitlens.domain.square import Square
from eitlens.domain.values import check_boundary_values

__all__ = ["ConformalMap", "Disk", "Domain", "Extension", "Square", "check_boundary_values"]
