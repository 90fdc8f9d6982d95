"""Boundary integral equations: nine digits for smooth inclusions that do not touch."""

from eitlens.forward.integral.solver import BoundaryIntegralSolver

__all__ = ["BoundaryIntegralSolver"]
