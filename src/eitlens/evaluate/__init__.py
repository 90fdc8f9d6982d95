"""Metrics, scores, sweeps and costs of networks."""

from eitlens.evaluate.costs import Cost, measure

__all__ = ["Cost", "measure"]
