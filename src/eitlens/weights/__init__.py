"""The trained networks that come with the package: a folder each. What is in one: `eitlens.imaging.store`."""

from pathlib import Path

SHIPPED = Path(__file__).parent
"""Where they are."""
