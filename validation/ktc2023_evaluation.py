"""The tank's network on the Kuopio challenge: segmentations of the 21 targets, and scores of the training targets.

    python validation/ktc2023_evaluation.py FOLDER [--model NAME]

FOLDER is that of the Kuopio Tomography Challenge 2023 (doi:10.5281/zenodo.8252370), with training/ and evaluation/. It
is not part of the package. All frames of a folder go through what `eitlens reconstruct FOLDER` does; up to level 5 with
`--refine`, as the training targets chose. Written are `segmentations.npz` in the geometry of the truths of April 2024,
`segmentations_original.npz` in that of 2023, which is another by the warp below, and `segmentations_network.npz`,
without the refinement; arrays `level_K_J`, 256 × 256, row 0 at the top. The training targets are scored at all levels
with and without the refinement, against both truths. No weight was fitted to them.
"""

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch
from jaxtyping import Float64
from ktc2023 import TARGETS, Classes, pixels, truth
from study import OUT, expect
from torch import Tensor

from eitlens.evaluate.ktc import ktc_score
from eitlens.files import write_json
from eitlens.imaging import Reconstruction, TankImager
from eitlens.measure import files
from eitlens.measure.readings import ElectrodeMeasurement

RESULTS = Path(__file__).parents[1] / "results/ktc2023"
LEVELS, CELLS, STEPS = 7, 512, 15
"""The levels; cells of an image, whose every second node is the centre of a pixel; steps of the refinement."""
REFINED = 5
"""The last level at which outlines score better than the network's classes on the training targets."""
SIZE, BEND, SHIFT = 1.0987, 0.0205, (0.0061, 0.0057)
"""The truths of 2023 show at (x, y), y down, what lies at SIZE (1 - BEND r²) (x, y) + SHIFT."""
BAR = 0.95
"""Mean score of the training targets at level 1."""
Points = Float64[Tensor, "*points two"]


def same(points: Points) -> Points:
    """The geometry of the truths of April 2024 is that of the tank."""
    return points


def original(points: Points) -> Points:
    """Where a pixel of the original truths really is, y up."""
    down = points * points.new_tensor([1.0, -1.0])
    place = SIZE * (1 - BEND * down.square().sum(-1, keepdim=True)) * down + points.new_tensor(SHIFT)
    return place * points.new_tensor([1.0, -1.0])


def segmented(found: Reconstruction, place: Callable[[Points], Points] = same) -> Classes:
    """The classes at the pixels, 0 outside the tank."""
    assert found.phases is not None
    points, inside = pixels()
    node = ((place(points) + 1) * (CELLS / 2)).round().long().clamp(0, CELLS)
    return torch.where(inside, found.phases.classes[node[..., 0], node[..., 1]], 0)


def read(folder: Path) -> ElectrodeMeasurement:
    """All targets of a folder, with its reference."""
    found = files.read(folder)
    assert isinstance(found, ElectrodeMeasurement)
    return found


def images(measurement: ElectrodeMeasurement, model: str | None) -> tuple[list[Reconstruction], ...]:
    """Those of the network, and the refined ones."""
    imager = TankImager.load(model)
    return tuple(list(imager.frames(measurement, CELLS, steps)) for steps in (0, STEPS))


def training(folder: Path, model: str | None) -> dict[str, dict[str, list[list[float]]]]:
    """The scores of the training targets at each level, by truth, without and with the refinement."""
    measurement = read(folder)
    names = {"v3": ("ground_truth", same), "original": ("ground_truth_original_2023", original)}
    scores: dict[str, dict[str, list[list[float]]]] = {name: {"network": [], "refined": []} for name in names}
    for level in range(1, LEVELS + 1):
        pattern = measurement.pattern
        keep = pattern.without(*range(1, 2 * level - 1)).mask[pattern.mask]
        voltages = torch.where(keep, measurement.voltages, torch.nan)
        plain, refined = images(replace(measurement, voltages=voltages), model)
        for name, (version, place) in names.items():
            truths = torch.stack([truth(folder, k, version) for k in TARGETS])
            for kind, found in (("network", plain), ("refined", refined)):
                seen = torch.stack([segmented(one, place) for one in found])
                scores[name][kind].append(ktc_score(truths, seen).tolist())
        row = {kind: sum(rows[-1]) / len(TARGETS) for kind, rows in scores["v3"].items()}
        print(f"  training, level {level}: {row}", flush=True)
    return scores


def evaluation(folder: Path, model: str | None) -> dict[str, float]:
    """Write the segmentations of the evaluation and a picture of them; what the outlines leave unexplained."""
    kept: dict[str, dict[str, np.ndarray]] = {"": {}, "_original": {}, "_network": {}}
    figure, axes = plt.subplots(LEVELS, 6, figsize=(10, 11))
    left = {}
    for level, row in zip(range(1, LEVELS + 1), axes, strict=True):
        plain, refined = images(read(folder / f"level_{level}"), model)
        for number, (one, other) in enumerate(zip(plain, refined, strict=True), 1):
            name, chosen = f"level_{level}_{number}", other if level <= REFINED else one
            pictures = {
                "": segmented(chosen),
                "_original": segmented(chosen, original),
                "_network": segmented(one),
            }
            for kind, picture in pictures.items():
                kept[kind][name] = picture.to(torch.uint8).numpy()
            assert other.refinement is not None
            left[name] = other.refinement.misfit_after
            for axis, (title, seen) in zip(
                row[2 * number - 2 : 2 * number],
                ((f"{level}.{number}", one), (f"outlines leave {left[name]:.1%}", other)),
                strict=True,
            ):
                axis.imshow(segmented(seen), vmin=0, vmax=2)
                axis.set(xticks=[], yticks=[])
                axis.set_title(title, fontsize=7)
        print(f"  evaluation, level {level} done", flush=True)
    for kind, arrays in kept.items():
        np.savez_compressed(RESULTS / f"segmentations{kind}.npz", allow_pickle=False, **arrays)
    figure.tight_layout()
    figure.savefig(OUT / "ktc2023_evaluation.png", dpi=80)
    return left


def summed(scores: dict[str, dict[str, list[list[float]]]]) -> dict[str, dict[str, dict[str, float]]]:
    """The mean of each level, and three times their sum as for the 21 targets of the evaluation."""
    told = {}
    for name, kinds in scores.items():
        means = {kind: [sum(row) / len(row) for row in rows] for kind, rows in kinds.items()}
        means["chosen"] = means["refined"][:REFINED] + means["network"][REFINED:]
        told[name] = {
            kind: {f"level_{k}": value for k, value in enumerate(row, 1)} | {"of_21": 3 * sum(row)}
            for kind, row in means.items()
        }
    return told


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--model", help="a network for tanks; the shipped one by default")
    given = parser.parse_args()
    print("The tank's network on the Kuopio challenge")
    if given.folder is None or not (given.folder / "evaluation").exists():
        print("  no measured data: give the folder of the challenge")
        raise SystemExit
    OUT.mkdir(exist_ok=True)
    RESULTS.mkdir(parents=True, exist_ok=True)
    left = evaluation(given.folder / "evaluation", given.model)
    scores = training(given.folder / "training", given.model)
    told = {"refined_up_to_level": REFINED, "training": scores, "means": summed(scores), "unexplained": left}
    write_json(RESULTS / "network.json", told)
    mean = sum(scores["v3"]["refined"][0]) / len(TARGETS)
    expect(mean >= BAR, f"training, level 1, refined: {mean:.3f}, at least {BAR}")


if __name__ == "__main__":
    main()
