"""A checkpoint: the whole state of a run in one file, tensors by name and numbers as JSON in the header.

Safetensors is plain data: nothing in a checkpoint is ever run. The file is written under another name and
renamed, so there is always a whole one. No state of random generators is kept, as all randomness is a pure
function of (seed, step).
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from eitlens.checks import known_keys
from eitlens.errors import InputError
from eitlens.files import disk_errors, write_atomically

FORMAT = 1  # raised when an older eitlens could not read the file
_HEADER = "eitlens-run"


@dataclass(frozen=True)
class Progress:
    """The numbers of a checkpoint.

    Attributes:
        step: steps taken.
        progress, stride, spent: see `ProgressTracker`.
        best: metrics of the weights kept, and their `step`.
        format: of the file.
    """

    step: int
    progress: float
    stride: float
    spent: float
    best: dict[str, float] = field(default_factory=dict)
    format: int = FORMAT


def write(path: Path, progress: Progress, parts: Mapping[str, Mapping[str, Tensor]]) -> None:
    """Write the tensors `part/name` and the numbers."""
    tensors = {
        f"{part}/{name}": tensor.detach().cpu().contiguous()
        for part, named in parts.items()
        for name, tensor in named.items()
    }
    write_atomically(path, save(tensors, {_HEADER: json.dumps(asdict(progress))}))


def read(path: Path) -> tuple[Progress, dict[str, dict[str, Tensor]]]:
    """Read the numbers, and the tensors by part."""
    remedy = "delete it to train again from the start, or restore it"
    try:
        with disk_errors(path), safe_open(path, "pt") as file:
            header = (file.metadata() or {}).get(_HEADER)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise InputError(f"{path}: not a whole checkpoint ({error}): {remedy}") from None
    progress = _progress(path, header, remedy)
    parts: dict[str, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        part, _, rest = name.partition("/")
        parts.setdefault(part, {})[rest] = tensor
    return progress, parts


def _progress(path: Path, header: str | None, remedy: str) -> Progress:
    try:
        values: Any = json.loads(header or "")
        found = Progress(**known_keys(values, Progress, str(path)))
    except (RecursionError, ValueError, TypeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: not a checkpoint of a training run: {remedy}") from None
    if not isinstance(found.best, dict) or any(type(v) not in (int, float) for v in found.best.values()):
        raise InputError(f"{path}: damaged: {remedy}")
    if found.format != FORMAT:
        raise InputError(
            f"{path}: format {found.format!r}, this eitlens reads {FORMAT}: update it, or {remedy}"
        )
    return found
