"""The D-bar method: σ from its scattering transform, which follows from the Dirichlet-to-Neumann map."""

from eitlens.classical.d_bar.equation import solve
from eitlens.classical.d_bar.image import DBar, dbar
from eitlens.classical.d_bar.scattering import Traces, scattering_transform

__all__ = ["DBar", "Traces", "dbar", "scattering_transform", "solve"]
