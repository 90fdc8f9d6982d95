"""Parameters that have been renamed since they were first saved, so that old files keep loading.

An entry stands for one rename in one network, by the class that holds it: `Rename("UIT", "out.", "head.")`
reads every tensor `out.…` of a saved UIT as `head.…`. Entries are applied in order and never removed.
"""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Rename:
    """The start of a parameter's name, before and after."""

    network: str
    old: str
    new: str


RENAMED: tuple[Rename, ...] = ()


def up_to_date(tensors: dict[str, Tensor], network: str) -> dict[str, Tensor]:
    """The same tensors under their present names."""
    for rename in RENAMED:
        if rename.network == network:
            tensors = {_replaced(name, rename): tensor for name, tensor in tensors.items()}
    return tensors


def _replaced(name: str, rename: Rename) -> str:
    return rename.new + name.removeprefix(rename.old) if name.startswith(rename.old) else name
