"""The networks: `names()` lists them, `create` makes one, `save` and `load` keep one.

net = create("uit", currents=3)          # (B, 9, n, n) features ↦ (B, 1, n, n) logits, any n ≥ 32
net.latents(features)["coarse/16"]       # what it holds on the coarsest grid
"""

from eitlens.models.base import Network, Preset
from eitlens.models.export import export_onnx
from eitlens.models.registry import create, names
from eitlens.models.storage import load, save

__all__ = ["Network", "Preset", "create", "export_onnx", "load", "names", "save"]
