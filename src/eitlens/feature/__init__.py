"""From boundary data to pictures a network can read."""

from eitlens.feature.harmonic import harmonic_extension

__all__ = ["harmonic_extension"]
