"""The tank's network on the open data of Kuopio 2017: another tank, 16 electrodes, 37 targets, never trained on.

    python validation/uef2017.py FOLDER [--model NAME]

FOLDER holds `datamat_S_K.mat` of the University of Eastern Finland (Hauptmann, Kolehmainen, Mach, Savolainen, Seppänen,
Siltanen, arXiv 1704.01178), `datamat_1_0.mat` the tank with water alone. It is not part of the package. Every target
goes through what `eitlens reconstruct` does. Written is `segmentations.npz`: arrays `S_K`, 256 × 256, 0 water,
1 resistive, 2 conductive, electrode 1 at the top, the others counter-clockwise, row 0 at the top. Where the folder has
pictures of what was in the tank, `photos/S_K.jpg` with plastic in blue and metal in red, the segmentation is compared
with them.
"""

import argparse
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import torch
from ktc2023 import Classes
from ktc2023_evaluation import CELLS, segmented
from study import OUT, expect

from eitlens.files import write_json
from eitlens.imaging import TankImager
from eitlens.measure import files

RESULTS = Path(__file__).parents[1] / "results/uef2017"
WATER, TARGETS, COLUMNS = "datamat_1_0.mat", 37, 8
WATER_COLOUR, PLASTIC, METAL = (0.25, 1.0, 0.0), (0.0, 0.1, 1.0), (1.0, 0.0, 0.0)
"""Of the pictures, red, green and blue."""
EDGE, SIZE = 0.02, 256  # per cent of the tank's pixels that rough edges may be; pixels of a segmentation
UNEXPLAINED = 0.1
"""Of the changes: the code of a good measurement leaves less."""
DICE = 0.8


def pictured(path: Path) -> Classes:
    """The classes that a picture shows, over the square around its tank."""
    image = plt.imread(path).astype(float) / 255
    far = [np.abs(image - colour).max(-1) for colour in (WATER_COLOUR, PLASTIC, METAL)]
    nearest, tank = np.argmin(far, 0), np.min(far, 0) < 0.4
    place = (np.arange(SIZE) + 0.5) / SIZE
    rows, columns = (
        np.round(low + (high - low) * place).astype(int)
        for low, high in (np.percentile(axis, (EDGE, 100 - EDGE)) for axis in np.nonzero(tank))
    )
    return torch.from_numpy(np.where(tank, nearest, 0)[np.ix_(rows, columns)])


def mean_dice(truth: Classes, seen: Classes) -> float:
    """The mean Dice score of the classes that are there."""
    scores = []
    for kind in (1, 2):
        one, other = truth == kind, seen == kind
        if bool(one.any()):
            scores.append(2 * int((one & other).sum()) / int(one.sum() + other.sum()))
    return sum(scores) / len(scores)


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--model", help="a network for tanks; the shipped one by default")
    given = parser.parse_args()
    print("The tank's network on the open data of Kuopio 2017")
    if given.folder is None or not (given.folder / WATER).exists():
        print("  no measured data: give the folder of the files datamat_S_K.mat")
        raise SystemExit
    imager, kept = TankImager.load(given.model), {}
    told: dict[str, Any] = {}
    paths = sorted(path for path in given.folder.glob("datamat_*.mat") if path.name != WATER)
    figure, axes = plt.subplots(-(-len(paths) // COLUMNS), COLUMNS, figsize=(COLUMNS * 1.4, 8))
    for path, axis in zip(paths, axes.flat, strict=False):
        name = path.stem.removeprefix("datamat_")
        (found,) = imager.frames(files.read(path, reference=str(given.folder / WATER)), CELLS)
        kept[name] = segmented(found).to(torch.uint8).numpy()
        told[name] = {"misfit": found.misfit, "warnings": [flag.text for flag in found.warnings]}
        if (picture := given.folder / "photos" / f"{name}.jpg").exists():
            told[name]["dice"] = mean_dice(pictured(picture), torch.from_numpy(kept[name]).long())
        axis.imshow(kept[name], vmin=0, vmax=2)
        axis.set_title(f"{name}: {found.misfit:.1%}", fontsize=8)
        print(f"  {name}: misfit {found.misfit:.1%}, {len(found.warnings)} warnings", flush=True)
    for axis in axes.flat:
        axis.set_axis_off()
    OUT.mkdir(exist_ok=True)
    RESULTS.mkdir(parents=True, exist_ok=True)
    figure.tight_layout()
    figure.savefig(OUT / "uef2017.png", dpi=80)
    np.savez_compressed(RESULTS / "segmentations.npz", allow_pickle=False, **kept)
    dice = [row["dice"] for row in told.values() if "dice" in row]
    summary = {"pictured": len(dice), "dice": sum(dice) / len(dice)} if dice else {}
    write_json(RESULTS / "targets.json", summary | {"targets": told})
    expect(len(kept) == TARGETS, f"{len(kept)} targets, expected {TARGETS}")
    worst = max(row["misfit"] for row in told.values())
    if dice:
        expect(
            summary["dice"] >= DICE,
            f"mean Dice of {len(dice)} pictured targets {summary['dice']:.3f}, at least {DICE}",
        )
    expect(worst < UNEXPLAINED, f"largest misfit {worst:.1%}, below {UNEXPLAINED:.0%}")


if __name__ == "__main__":
    main()
