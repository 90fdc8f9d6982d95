"""The networks: `names()` lists them, `create` makes one, `save` and `load` keep one.

>>> network = eit.models.create("uit", currents=3)  # (B, 9, n, n) features ↦ (B, 1, n, n) logits, any n ≥ 32
>>> network.latents(torch.zeros(1, 9, 64, 64))["coarse/16"].shape
torch.Size([1, 512, 16, 16])
"""

from eitlens.models.base import Network, Preset
from eitlens.models.export import export_onnx
from eitlens.models.registry import create, names
from eitlens.models.storage import load, save

__all__ = ["Network", "Preset", "create", "export_onnx", "load", "names", "save"]
