"""Fine-tuning of an image through the forward solver: see `tune`."""

from eitlens.imaging.refine.descent import Problem, refine

__all__ = ["Problem", "refine"]
