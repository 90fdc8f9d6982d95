"""From conductivity to boundary data: currents, solvers, noise, and the Neumann-to-Dirichlet map."""

from eitlens.forward.base import Solver
from eitlens.forward.boundary_integral import BoundaryIntegralSolver
from eitlens.forward.ntd import NeumannToDirichlet
from eitlens.forward.noise import add_noise, add_white_noise

__all__ = ["BoundaryIntegralSolver", "NeumannToDirichlet", "Solver", "add_noise", "add_white_noise"]
