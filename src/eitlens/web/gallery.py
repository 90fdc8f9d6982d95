"""The networks the page can choose from."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from eitlens import __version__, imaging
from eitlens.errors import InputError
from eitlens.imaging.imager import Imager


@dataclass(frozen=True)
class Gallery:
    """Imagers by name, the default first; without any, the page still has the classical image."""

    imagers: dict[str, Imager] = field(default_factory=dict)

    @staticmethod
    def open(models: Sequence[str] = (), device: str = "cpu") -> "Gallery":
        """Load these networks, given by name or folder; all that come with the package when none is given."""
        found: dict[str, Imager] = {}
        for imager in (imaging.load(model, device) for model in models or imaging.shipped()):
            if imager.name in found:
                raise InputError(f"two networks are called {imager.name!r}: rename the folder of one")
            found[imager.name] = imager
        return Gallery(found)

    def imager(self, name: str) -> Imager:
        """The network of this name."""
        self.check((name,))
        return self.imagers[name]

    def check(self, names: Sequence[str]) -> None:
        """Refuse a name that is not here."""
        for name in names:
            if name not in self.imagers:
                known = ", ".join(self.imagers) or "none"
                raise InputError(f"models: there is no network {name!r} here: there are {known}")

    def settings(self) -> dict[str, Any]:
        """The settings that the page of a server reads before it starts: who computes, and which networks there are."""
        models = [describe(imager) for imager in self.imagers.values()]
        return {"version": __version__, "engine": "server", "models": models}


def describe(imager: Imager) -> dict[str, Any]:
    """The description of a network for the page: its name, how many currents it reads, the most noise it knows."""
    reader = imager.reader
    return {
        "name": imager.name,
        "fewest": reader.fewest,
        "most": reader.currents.count,
        "noisiest": imager.noisiest,
    }
