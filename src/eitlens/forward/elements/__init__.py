"""Finite elements on triangles, for any body and any conductivity."""

from eitlens.forward.elements.conductivity import MeshField
from eitlens.forward.elements.electrodes import ElementElectrodeSolver
from eitlens.forward.elements.jacobian import Sensitivity
from eitlens.forward.elements.solver import ElementSolver

__all__ = ["ElementElectrodeSolver", "ElementSolver", "MeshField", "Sensitivity"]
