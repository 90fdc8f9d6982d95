"""The gallery: an easy, a typical and an ambiguous phantom, chosen by what their posteriors expect of themselves."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from eitlens import imaging
from eitlens.domain import Square
from eitlens.figures.posterior import GalleryCase
from eitlens.figures.posterior import gallery as draw
from eitlens.phantom import level_set
from limit import kept, report
from limit.files import between, read, shrunk
from limit.measurements import Cell, measured, recipe

NAMES = ("easy", "typical", "ambiguous")


def chosen(limit: dict[str, Any]) -> dict[str, int]:
    """The phantoms with the largest, the median and the smallest expected Dice, of those that converged.

    Where fewer than three did, of all. The truth has no say in it.
    """
    agreed = np.flatnonzero(report.converged(limit))
    among = agreed if len(agreed) >= len(NAMES) else np.arange(limit["phantoms"])
    expected = np.asarray(limit["scores"]["expected_dice"])[among]
    order = among[np.argsort(-expected, kind="stable")]
    return dict(zip(NAMES, (int(order[k]) for k in (0, len(order) // 2, -1)), strict=True))


def gallery(cell: Cell, network: str, page: Path) -> None:
    """Draw them beside a network's image and put the picture in the page."""
    limit = read(f"{cell.name}.json")
    if limit is None:
        raise SystemExit(f"{cell.name}: no result file yet: run the part `table` on a GPU first")
    path = page.parent / "images" / "posterior_gallery.png"
    name = Path(network).name
    draw(_cases(cell, limit, network), name, path)
    shrunk(path)
    between(page, "gallery", f"{_caption(cell, limit)}\n\n![{_seen(name)}](images/{path.name})")


def _cases(cell: Cell, limit: dict[str, Any], network: str) -> list[GalleryCase]:
    indices, found = chosen(limit), kept.load(cell)
    samples = measured(cell, 0, limit["phantoms"], torch.device("cpu"))
    fields = level_set(Square(recipe(cell).n), samples.phantoms)
    (group,) = samples.phantoms.groups
    drawn = imaging.load(network).batch(samples.noisy[list(indices.values())])
    return [
        GalleryCase(
            f"{name}: no. {k}, expects {limit['scores']['expected_dice'][k]:.2f}",
            group.parameters[k],
            fields[k],
            found.samples[k],
            found.mean[k],
            found.best[k],
            image,
        )
        for (name, k), image in zip(indices.items(), drawn, strict=True)
    ]


def _caption(cell: Cell, limit: dict[str, Any]) -> str:
    """Say what is seen, and whether it may be believed."""
    agreed = report.converged(limit)
    count = sum(bool(agreed[k]) for k in chosen(limit).values())
    among = f"the {agreed.sum()} of {len(agreed)} measurements that converged"
    doubt = f"{count} of these three converged: the others show what the sampler found, not the posterior."
    return (
        f"L = {cell.currents}, τ = {cell.tau:g}. The phantoms of which the posterior expects the largest, the median "
        f"and the smallest Dice, of {among if agreed.sum() >= len(NAMES) else 'all'}. "
        + (doubt if count < len(NAMES) else "")
    ).strip()


def _seen(network: str) -> str:
    return (
        "A row a phantom: samples of the posterior as outlines on the truth in grey, posterior mean, standard "
        f"deviation, the set with the largest expected Dice, and the image of {network}"
    )
