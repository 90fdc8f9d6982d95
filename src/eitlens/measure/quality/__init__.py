"""The quality of a measurement, before any image is made of it: what is wrong, where, and what can be done."""

from eitlens.measure.quality.base import Finding
from eitlens.measure.quality.report import Report, inspect

__all__ = ["Finding", "Report", "inspect"]
