"""The body: its grid, its boundary loop, and the solution operators of the Laplacian on it."""

from eitlens.domain.base import ConformalMap, Domain, Extension, check_boundary_values
from eitlens.domain.disk import Disk
from eitlens.domain.smooth import SmoothBody
from eitlens.domain.square import Square

__all__ = ["ConformalMap", "Disk", "Domain", "Extension", "SmoothBody", "Square", "check_boundary_values"]
