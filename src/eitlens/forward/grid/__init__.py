"""The grid solver: any conductivity on the grid of the square."""

from eitlens.forward.grid.conductivity import Conductivity, Field, LevelSet
from eitlens.forward.grid.solver import GridSolver

__all__ = ["Conductivity", "Field", "GridSolver", "LevelSet"]
