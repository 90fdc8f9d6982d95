"""Finite elements on triangles, for any body and any conductivity."""

from eitlens.forward.elements.solver import ElementSolver

__all__ = ["ElementSolver"]
