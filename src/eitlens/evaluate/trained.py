"""A trained network with what it is fed with: from boundary data to an image."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from jaxtyping import Float
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from eitlens import models
from eitlens.data import Features
from eitlens.domain.base import CPU
from eitlens.errors import InputError
from eitlens.forward.base import Data
from eitlens.models import Network
from eitlens.models.registry import build

BATCH = 64


@dataclass(frozen=True)
class Trained:
    """Boundary differences (B, L, 4n) ↦ logits (B, n+1, n+1), at the n of its features."""

    network: Network
    features: Features
    device: torch.device = CPU

    @staticmethod
    def load(folder: str | Path, name: str = "best", device: torch.device = CPU) -> "Trained":
        """From a run's folder: `name`.safetensors with its .json, and features.json."""
        folder = Path(folder)
        weights = folder / f"{name}.safetensors"
        if not weights.exists():
            raise InputError(
                f"{weights}: no such file: is {folder} a run of `eitlens train`, begun at least?"
            )
        network = _expanded(weights) if _compact(weights) else models.load(weights)
        features = _features(folder / "features.json")
        if network.config.currents != features.currents.count:
            raise InputError(
                f"{folder}: the network reads {network.config.currents} currents, features.json says "
                f"{features.currents.count}: do they belong together?"
            )
        return Trained(network.to(device).eval(), features, device)

    def at(self, n: int) -> "Trained":
        """The same on a grid of n cells a side."""
        return replace(self, features=replace(self.features, n=n))

    @torch.no_grad()
    def __call__(self, difference: Data, batch: int = BATCH) -> Float[Tensor, "samples nx ny"]:
        """The logits, in float32 throughout, so that a score does not depend on where it was computed."""
        rows = torch.split(difference.to(self.device), batch)
        return torch.cat([self.network(self.features(part))[:, 0] for part in rows])


def save_compact(folder: Path, name: str, target: Path) -> Path:
    """Copy weights with their matrices in float16, half the size; `Trained.load` reads them.

    Vectors, such as the variances of norms, stay float32: they are few and may be tiny. Each weight changes
    by at most one part in 2,000.
    """
    network = models.load(folder / f"{name}.safetensors")
    tensors = {key: tensor.cpu().contiguous() for key, tensor in network.state_dict().items()}
    small = {k: t.half() if t.ndim > 1 and t.dtype == torch.float32 else t for k, t in tensors.items()}
    target.mkdir(parents=True, exist_ok=True)
    weights = target / f"{name}.safetensors"
    partial = weights.with_name(f".{weights.name}.partial")
    save_file(small, partial, {"precision": "float16"})
    partial.replace(weights)
    weights.with_suffix(".json").write_bytes((folder / f"{name}.json").read_bytes())
    (target / "features.json").write_bytes((folder / "features.json").read_bytes())
    return weights


def _compact(weights: Path) -> bool:
    from safetensors import safe_open

    try:
        with safe_open(weights, "pt") as file:
            return (file.metadata() or {}).get("precision") == "float16"
    except SafetensorError as error:
        raise InputError(
            f"{weights}: not a whole safetensors file ({error}): copy or train it again"
        ) from None


def _expanded(weights: Path) -> Network:
    try:
        description = json.loads(weights.with_suffix(".json").read_text())
        network = build(description["preset"], description["settings"])
        tensors = {k: t.float() if t.is_floating_point() else t for k, t in load_file(weights).items()}
        network.load_state_dict(tensors)
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        first = str(error).splitlines()[0]
        raise InputError(
            f"{weights}: cannot be read ({first}): does the .json beside it belong to it?"
        ) from None
    return network


def _features(path: Path) -> Features:
    try:
        return Features.from_dict(json.loads(path.read_text()))
    except FileNotFoundError:
        raise InputError(
            f"{path}: no such file: it is written beside the weights by `eitlens train`"
        ) from None
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise InputError(f"{path}: {error}") from None
        raise InputError(f"{path}: not a JSON file ({error}): copy it again from the run") from None
