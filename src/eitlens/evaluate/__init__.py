"""How good the networks are, and what they cost."""

from eitlens.evaluate.costs import Cost, costs, measure

__all__ = ["Cost", "costs", "measure"]
