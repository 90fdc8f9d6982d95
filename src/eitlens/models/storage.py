"""A network on disk: `name.safetensors` holds its tensors, `name.json` its preset and every setting.

Both are plain data: nothing is ever unpickled. Loading is strict; every tensor must be there, with its shape,
and none may be left over. Weights may be stored in 8 or 16 bits, and large files split (`eitlens.models.shards`).
Names that have changed since a file was written are translated by `RENAMED`.
"""

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from eitlens.errors import InputError
from eitlens.files import make_folder, read_json
from eitlens.models import shards
from eitlens.models.base import Network
from eitlens.models.registry import build

FORMAT = 1  # of the .json file
KEYS = {"format", "preset", "settings"}
RENAMED: tuple[tuple[str, str, str], ...] = ()
"""A network's class, the start of a parameter's name before, and after: applied in order, and never removed."""


def save(network: Network, path: str | Path, compact: bool = False) -> Path:
    """Write `path` (.safetensors) and its .json; what was there stays whole until both are written.

    `compact` stores matrices in 8 bits and splits the file into shards of at most 15 MB: for shipping.
    """
    weights = _weights(path)
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in network.state_dict().items()}
    description = {"format": FORMAT, "preset": network.preset, "settings": asdict(network.config)}
    described = {weights.with_suffix(".json"): (json.dumps(description, indent=2) + "\n").encode()}
    make_folder(weights.parent)
    limit = shards.LIMIT if compact else None
    shards.write(shards.compacted(tensors) if compact else tensors, weights, limit, described)
    return weights


def load(path: str | Path, device: str | torch.device = "cpu") -> Network:
    """The network saved at `path`, in evaluation mode."""
    weights = _weights(path)
    saved = shards.expanded(shards.read(weights))
    remedy = "a network is two files of one name, .safetensors and .json: copy both"
    description = read_json(weights.with_suffix(".json"), _checked, remedy)
    network = build(description["preset"], description["settings"])
    tensors = _up_to_date(saved, type(network).__name__)
    _check(tensors, network.state_dict(), weights)
    _check_finite(tensors, [name for name, _ in network.named_parameters()], weights)
    network.load_state_dict(tensors)
    return network.to(device).eval()


def _weights(path: str | Path) -> Path:
    """`uit`, `uit.json` and `uit.safetensors` name the same pair of files; other dots belong to the name."""
    path = Path(path)
    given = path.suffix in {".json", ".safetensors"}
    return path.with_suffix(".safetensors") if given else Path(f"{path}.safetensors")


def _up_to_date(tensors: dict[str, Tensor], network: str) -> dict[str, Tensor]:
    """The same tensors under their present names."""
    for owner, old, new in RENAMED:
        if owner == network:
            tensors = {re.sub(f"^{re.escape(old)}", new, name): part for name, part in tensors.items()}
    return tensors


def _checked(description: Any) -> dict[str, Any]:
    settings = description.get("settings") if isinstance(description, dict) else None
    if not isinstance(settings, dict) or set(description) != KEYS:
        raise InputError(
            f"expected the keys {', '.join(sorted(KEYS))}: was it written by eitlens.models.save?"
        )
    if description["format"] != FORMAT:
        raise InputError(f"format {description['format']!r}, expected {FORMAT}: update eitlens to read it")
    return dict(description)


def _check(given: dict[str, Tensor], expected: dict[str, Tensor], path: Path) -> None:
    missing, surplus = sorted(expected.keys() - given.keys()), sorted(given.keys() - expected.keys())
    if missing or surplus:
        first = f"{missing[0]!r} is missing" if missing else f"{surplus[0]!r} is unknown"
        raise InputError(
            f"{path}: {len(missing)} of {len(expected)} tensors missing, {len(surplus)} unknown ({first}): "
            "does the .json beside it belong to it?"
        )
    for name, tensor in expected.items():
        if (found := _kind(given[name])) != _kind(tensor):
            raise InputError(f"{path}: {name} is {found}, expected {_kind(tensor)}: is the .json its own?")


def _check_finite(tensors: dict[str, Tensor], learned: list[str], path: Path) -> None:
    bad = [name for name in learned if not bool(torch.isfinite(tensors[name]).all())]
    if bad:
        raise InputError(
            f"{path}: {len(bad)} of {len(learned)} weights hold NaN or infinite numbers ({bad[0]!r} is the first): "
            "the training diverged or the file is damaged: use other weights"
        )


def _kind(tensor: Tensor) -> str:
    return f"{tuple(tensor.shape)} {str(tensor.dtype).removeprefix('torch.')}"
