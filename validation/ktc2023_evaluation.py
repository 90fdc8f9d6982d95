"""Segmentations of the Kuopio challenge by outlines: the 21 targets of its evaluation, and scores of the training.

    python validation/ktc2023_evaluation.py FOLDER

FOLDER is that of the Kuopio Tomography Challenge 2023 (doi:10.5281/zenodo.8252370), with training/ and evaluation/. It
is not part of the package. All frames of a folder are inspected together, with its `ref.mat`. What is found is
corrected (the device's errors, electrode 31 while it drives), but for the drift, which is fitted along. Each frame then
becomes outlines. Written are `segmentations.npz` in the geometry of the truths of April 2024, and
`segmentations_original.npz` in that of 2023, which is another by the warp below; arrays `level_K_J`, 256 × 256, row 0
at the top. The training targets are scored at all levels, against both. Nothing is fitted to them, but the errors of
the readings were chosen by their scores: one setting for levels 1 to 4 and one for levels 5 to 7.
"""

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch
from jaxtyping import Float64
from ktc2023 import ERRORS, TARGETS, Classes, kept, named, pixels, truth
from study import OUT, expect
from torch import Tensor

from eitlens.classical.outlines import Outlined
from eitlens.classical.tank_frame import TankFrame
from eitlens.evaluate.ktc import ktc_score
from eitlens.files import write_json
from eitlens.imaging.by_tank import outlined
from eitlens.measure import files
from eitlens.measure.quality import drift, inspect
from eitlens.measure.readings import ElectrodeMeasurement

RESULTS = Path(__file__).parents[1] / "results/ktc2023"
LEVELS, MANY = 7, 4
SETTINGS = {
    level: ERRORS["5 %, floor 10 %" if level <= MANY else "5 %, floor 2 %"] for level in range(1, LEVELS + 1)
}
"""The errors of the readings by level: of three settings the best with many readings, and the best with few."""
UNEXPLAINED = 0.12
"""Of the changes; a good fit leaves 3 to 6 %."""
SIZE, BEND, SHIFT = 1.0987, 0.0205, (0.0061, 0.0057)
"""The truths of 2023 show at (x, y), y down, what lies at SIZE (1 - BEND r²) (x, y) + SHIFT."""
BAR = 0.9
"""Mean score of the training targets at level 1."""


def original(points: Float64[Tensor, "points two"]) -> Float64[Tensor, "points two"]:
    """Where a pixel of the original truths really is, y up."""
    down = points * points.new_tensor([1.0, -1.0])
    place = SIZE * (1 - BEND * down.square().sum(-1, keepdim=True)) * down + points.new_tensor(SHIFT)
    return place * points.new_tensor([1.0, -1.0])


def outlines_of(measurement: ElectrodeMeasurement, level: int) -> list[Outlined]:
    """The outlines of every frame."""
    report = inspect(measurement)
    kinds = {fault.kind for fault in report.findings if fault.fix is not None} - {drift.KIND}
    corrected = report.applied(*kinds) if kinds else measurement
    print(f"  corrected: {', '.join(sorted(kinds)) or 'nothing'}", flush=True)
    return [fitted(corrected.frame(k), level) for k in range(corrected.frames)]


def fitted(frame: ElectrodeMeasurement, level: int) -> Outlined:
    """The outlines of a frame; where they leave much unexplained, with the other errors if those leave less."""
    found = outlined(TankFrame.of(frame, SETTINGS[level]))
    if found.relative_misfit <= UNEXPLAINED:
        return found
    (other,) = (errors for errors in ERRORS.values() if errors != SETTINGS[level])
    return min(found, outlined(TankFrame.of(frame, other)), key=lambda one: one.relative_misfit)


def segmented(found: Outlined, place: Callable[[Tensor], Tensor] = lambda points: points) -> Classes:
    """The classes of the pixels."""
    points, inside = pixels()
    return named(found.classes(place(points[inside])))


def read(folder: Path) -> ElectrodeMeasurement:
    """All targets of a folder, with its reference."""
    found = files.read(folder)
    assert isinstance(found, ElectrodeMeasurement)
    return found


def training(folder: Path) -> dict[str, list[list[float]]]:
    """The scores of the training targets at each level, against both truths."""
    measurement = read(folder)
    truths = {
        name: torch.stack([truth(folder, k, place) for k in TARGETS])
        for name, place in (("v3", "ground_truth"), ("original", "ground_truth_original_2023"))
    }
    scores: dict[str, list[list[float]]] = {"v3": [], "original": []}
    for level in range(1, LEVELS + 1):
        keep = kept(measurement.pattern, level)[1][measurement.pattern.mask]
        voltages = torch.where(keep, measurement.voltages, torch.nan)
        found = outlines_of(replace(measurement, voltages=voltages), level)
        for name, place in (("v3", lambda points: points), ("original", original)):
            images = torch.stack([segmented(one, place) for one in found])
            scores[name].append(ktc_score(truths[name], images).tolist())
        means = {name: sum(rows[-1]) / len(rows[-1]) for name, rows in scores.items()}
        print(
            f"  training, level {level}: " + ", ".join(f"{n} {v:.3f}" for n, v in means.items()), flush=True
        )
    return scores


def evaluation(folder: Path) -> None:
    """Write the segmentations of the evaluation, and a picture of them."""
    straight, warped = {}, {}
    figure, axes = plt.subplots(LEVELS, 3, figsize=(5, 11))
    for level, row in zip(range(1, LEVELS + 1), axes, strict=True):
        for number, (one, axis) in enumerate(
            zip(outlines_of(read(folder / f"level_{level}"), level), row, strict=True), 1
        ):
            name = f"level_{level}_{number}"
            straight[name] = segmented(one).to(torch.uint8).numpy()
            warped[name] = segmented(one, original).to(torch.uint8).numpy()
            axis.imshow(straight[name], vmin=0, vmax=2)
            axis.set(xticks=[], yticks=[], title=f"{level}.{number}: misfit {one.relative_misfit:.1%}")
        print(f"  evaluation, level {level} done", flush=True)
    np.savez_compressed(RESULTS / "segmentations.npz", allow_pickle=False, **straight)
    np.savez_compressed(RESULTS / "segmentations_original.npz", allow_pickle=False, **warped)
    figure.tight_layout()
    figure.savefig(OUT / "ktc2023_evaluation.png", dpi=80)


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path)
    given = parser.parse_args()
    print("Outlines of the targets of the Kuopio challenge")
    if given.folder is None or not (given.folder / "evaluation").exists():
        print("  no measured data: give the folder of the challenge")
        raise SystemExit
    OUT.mkdir(exist_ok=True)
    RESULTS.mkdir(parents=True, exist_ok=True)
    evaluation(given.folder / "evaluation")
    scores = training(given.folder / "training")
    settings = {level: vars(errors) for level, errors in SETTINGS.items()}
    write_json(RESULTS / "outlines.json", {"settings": settings, "training": scores})
    for name, rows in scores.items():
        mean = sum(rows[0]) / len(rows[0])
        expect(mean >= BAR or name == "original", f"training, level 1, {name}: {mean:.3f}, at least {BAR}")


if __name__ == "__main__":
    main()
