"""Refinement of an image through the forward solver: see `levenberg_marquardt`."""

from eitlens.imaging.refine.levenberg_marquardt import Problem, refine

__all__ = ["Problem", "refine"]
