"""How good the networks are, and what they cost."""

from eitlens.evaluate.costs import Cost, measure

__all__ = ["Cost", "measure"]
