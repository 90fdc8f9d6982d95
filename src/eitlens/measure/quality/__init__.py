"""The quality of a measurement, before any image is made of it: what is wrong, where, and what can be done."""

from eitlens.measure.quality.base import Fault
from eitlens.measure.quality.inspection import Inspection, inspect

__all__ = ["Fault", "Inspection", "inspect"]
