"""What the page has to know before it starts: who computes, and which networks there are."""

from typing import Any

from eitlens import __version__
from eitlens.imaging.imager import Imager
from eitlens.web.gallery import Gallery


def server_settings(gallery: Gallery) -> dict[str, Any]:
    """For a page that asks the server it came from."""
    models = [describe(imager) for imager in gallery.imagers.values()]
    return {"version": __version__, "engine": "server", "models": models}


def describe(imager: Imager) -> dict[str, Any]:
    """A network in a few words: its name, and how many currents it reads."""
    reader = imager.reader
    return {"name": imager.name, "fewest": reader.fewest, "most": reader.currents.count}
