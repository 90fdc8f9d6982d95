"""The page as static files: it computes in the browser and can be put on any host."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eitlens import __version__, imaging
from eitlens.errors import InputError
from eitlens.files import fresh_folder, make_folder, write_atomically, write_json
from eitlens.imaging.calibration import Calibration
from eitlens.imaging.imager import Imager
from eitlens.web.assets import CONTENT_SECURITY_POLICY, page
from eitlens.web.drawing import BODY
from eitlens.web.gallery import Gallery, describe
from eitlens.web.graphs import Graph, write_classical, write_network
from eitlens.web.runtime import place_runtime

SHOWN = 100  # cells a side of the classical image
_FOLDERS = "graphs", "runtime"


def export_page(folder: Path, gallery: Gallery, runtime: Path | None) -> Iterator[str]:
    """Write the page into `folder`, new or empty; tells what it has done as it goes."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder}: it is there already and not empty: give another folder")
    with fresh_folder(folder) as building:
        yield from _fill(building, gallery, runtime)


def _fill(folder: Path, gallery: Gallery, runtime: Path | None) -> Iterator[str]:
    place_runtime(folder / _FOLDERS[1], runtime)
    yield "onnxruntime-web"
    for name, asset in page().items():
        target = folder / name
        make_folder(target.parent)
        write_atomically(target, _with_policy(asset.content) if name == "index.html" else asset.content)
    yield "the page"
    graphs = folder / _FOLDERS[0]
    classical = write_classical(SHOWN, graphs / "classical.onnx")
    yield "direct sampling"
    models = []
    for imager in gallery.imagers.values():
        models.append(_model(imager, graphs))
        yield f"the network {imager.name}"
    settings = {
        "version": __version__,
        "engine": "local",
        "cells": BODY.n,
        "shown": SHOWN,
        "classical": f"{_FOLDERS[0]}/{classical.file}",
        "models": models,
    }
    write_json(folder / "settings.json", settings, indent=1)


def export_network(model: str, path: Path) -> Graph:
    """Write one network, from boundary data to logits, as an ONNX file."""
    if path.suffix != ".onnx":
        raise InputError(f"{path}: the file's name must end in .onnx")
    imager = imaging.load(model)
    return write_network(imager.reader, path)


def _model(imager: Imager, graphs: Path) -> dict[str, Any]:
    graph = write_network(imager.reader, graphs / f"{imager.name}.onnx")
    reader = imager.reader
    counts = range(reader.fewest, reader.currents.count + 1)
    return describe(imager) | {
        "n": reader.n,
        "graph": f"{_FOLDERS[0]}/{graph.file}",
        "calibrations": {count: _temperatures(imager.calibration.reading(count)) for count in counts},
    }


def _temperatures(calibration: Calibration) -> dict[str, Any]:
    return {"levels": calibration.levels, "temperatures": calibration.temperatures}


def _with_policy(index: bytes) -> bytes:
    """The server's policy as part of the page, less what a page cannot say of itself."""
    kept = [rule for rule in CONTENT_SECURITY_POLICY.split("; ") if not rule.startswith("frame-ancestors")]
    tag = f'<meta http-equiv="Content-Security-Policy" content="{"; ".join(kept)}">\n'
    return index.replace(b'<meta name="viewport"', tag.encode() + b'<meta name="viewport"', 1)
