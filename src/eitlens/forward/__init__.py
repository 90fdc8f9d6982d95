"""From conductivity to boundary data: currents, solvers, noise, and the Neumann-to-Dirichlet map."""

from eitlens.forward.base import Solver
from eitlens.forward.elements import ElementElectrodeSolver, ElementSolver, MeshField, Sensitivity
from eitlens.forward.grid import Field, GridSolver, LevelSet
from eitlens.forward.integral import BoundaryIntegralSolver
from eitlens.forward.noise import add_noise, add_white_noise
from eitlens.forward.ntd import NeumannToDirichlet

__all__ = [
    "BoundaryIntegralSolver",
    "ElementElectrodeSolver",
    "ElementSolver",
    "Field",
    "GridSolver",
    "LevelSet",
    "MeshField",
    "NeumannToDirichlet",
    "Sensitivity",
    "Solver",
    "add_noise",
    "add_white_noise",
]
