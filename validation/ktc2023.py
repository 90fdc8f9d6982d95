"""Classical images of a measured tank: the four training targets of the Kuopio challenge, scored against their truths.

    python validation/ktc2023.py FOLDER

FOLDER is the training folder of the Kuopio Tomography Challenge 2023 (doi:10.5281/zenodo.8252370, truths of version 3),
which is not part of the package. The instrument's common mode and source currents are fitted to the reference and taken
off all readings; readings at electrode 31 while it drives are left out. Each method has a few settings of the readings'
errors. The setting for a target is the one that is best on the other three. Levels 2 to 7 take away electrodes as the
challenge does, with the setting that is best on all targets at level 1.

Caveat: the priors of level sets and outlines were chosen among a few on all four targets, which flatters these two.
"""

import argparse
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import instrument
import matplotlib.pyplot as plt
import scipy.io
import torch
from jaxtyping import Float64, Int64
from study import OUT, expect
from torch import Tensor

from eitlens.classical.classes import three_classes
from eitlens.classical.gauss_newton import TankImage, gauss_newton_image
from eitlens.classical.level_set import level_set_image
from eitlens.classical.outlines import fit_outlines, pieces
from eitlens.classical.tank_frame import ReadingErrors, TankFrame
from eitlens.classical.total_variation import total_variation_image
from eitlens.domain import Disk
from eitlens.electrodes import Electrodes, Instrument, Pattern
from eitlens.evaluate.ktc import CONDUCTIVE, PIXELS, RESISTIVE, ktc_score
from eitlens.files import write_json
from eitlens.measure import Measurement
from eitlens.measure.readings import ElectrodeMeasurement
from eitlens.measure.tank import TankFit, fit_tank

RESULT = Path(__file__).parents[1] / "results/ktc2023/classical.json"
TARGETS, RADIUS = (1, 2, 3, 4), 0.115
FREE = ["conductivity, impedance", "one width", "common mode", "source currents"]
ERRORS = {
    "5 %, floor 2 %": ReadingErrors(0.05, 0.02),
    "5 %, floor 10 %": ReadingErrors(0.05, 0.1),
}
"""The settings: how large the errors of the changes are taken to be."""
STEPS, NOISE = 8, 0.3
"""At most so many steps; they end at this misfit, as the errors are those of a model, and most readings are closer."""
BARS = {"gauss-newton": 0.78, "total-variation": 0.80, "level-set": 0.85, "outlines": 0.90}
AT_ALL_LEVELS = ("gauss-newton", "outlines")
GRID = Disk(100)

Classes = Int64[Tensor, "rows columns"]


def fitted_instrument(stored: dict[str, Tensor]) -> Instrument:
    """The instrument that explains the reference best."""
    drive, data = stored["drive"], stored["reference"]
    parts = {name: torch.zeros(size, dtype=torch.float64) for name, size in instrument.SIZES.items()}
    parts[FREE[0]] = torch.tensor([math.log(0.8), math.log(1e-3)], dtype=torch.float64)

    def residual(given: dict[str, Tensor]) -> Tensor:
        gap: Tensor = (instrument.model(given, drive) - data).flatten() / data.norm()
        return gap

    for count in range(1, len(FREE) + 1):
        instrument.fit(parts, FREE[:count], residual)
    channels = Instrument.neighbours(instrument.E)
    return Instrument(channels, common=parts["common mode"], source=parts["source currents"])


def measurement(folder: Path, target: int, device: Instrument, level: int = 1) -> ElectrodeMeasurement:
    """The target's readings and the reference's as a device without these errors reads them, at a level."""
    water, data = scipy.io.loadmat(folder / "ref.mat"), scipy.io.loadmat(folder / f"data{target}.mat")
    pattern = Pattern(water["Injref"].T, water["Mpat"].T)
    keep = kept(pattern, level)
    pair = [
        torch.tensor(x, dtype=torch.float64).reshape(pattern.mask.shape)
        for x in (data["Uel"], water["Uelref"])
    ]
    seen = torch.stack(pair).masked_fill(~keep[1][None], torch.nan)
    freed = device.freed(seen, pattern.stimulation).masked_fill(~keep[0], torch.nan).flatten(1)
    electrodes = Electrodes.even(Disk(32, scale=RADIUS), instrument.E, first=math.pi / 2)
    return Measurement.of_electrodes(electrodes, pattern, freed[0], freed[1])


def kept(pattern: Pattern, level: int) -> tuple[Tensor, Tensor]:
    """Which readings there are at a level without those at electrode 31 while it drives, and with them."""
    gone = torch.arange(instrument.E) < 2 * (level - 1)
    drives = (pattern.stimulation[:, gone] != 0).any(-1)
    reads = (pattern.reading[:, gone] != 0).any(-1)
    there = ~(drives[:, None] | reads)
    reliable = there.clone()
    reliable[torch.tensor(instrument.UNRELIABLE[0])[:, None], torch.tensor(instrument.UNRELIABLE[1])] = False
    return reliable, there


def pixels() -> tuple[Float64[Tensor, "rows columns two"], Tensor]:
    """The centres of the truth's pixels, row 0 at the top, and which lie in the tank."""
    place = (torch.arange(PIXELS, dtype=torch.float64) - (PIXELS - 1) / 2) / (PIXELS / 2)
    grid = torch.stack(torch.meshgrid(-place, place, indexing="ij")[::-1], -1)
    return grid, grid.norm(dim=-1) < 1


def named(signs: Int64[Tensor, "points"]) -> Classes:
    """The challenge's classes from -1, 0 and 1 at the pixels of the tank."""
    _, inside = pixels()
    found = torch.zeros(PIXELS, PIXELS, dtype=torch.int64)
    found[inside] = torch.where(signs < 0, RESISTIVE, torch.where(signs > 0, CONDUCTIVE, 0))
    return found


def at_pixels(frame: TankFrame, values: Tensor) -> Float64[Tensor, "points"]:
    """Values of the lattice at the pixels of the tank."""
    places, inside = pixels()
    return frame.model.lattice.at(values, places[inside])


def started(frame: TankFrame) -> TankImage:
    """Gauss-Newton's image, from which all others begin."""
    return gauss_newton_image(frame, steps=STEPS, target=NOISE)


def by_gauss_newton(smooth: TankImage) -> Classes:
    """Gauss-Newton's image and Otsu's thresholds."""
    return named(three_classes(at_pixels(smooth.frame, smooth.contrast)))


def by_total_variation(smooth: TankImage) -> Classes:
    """Total variation and Otsu's thresholds."""
    image = total_variation_image(smooth.frame, start=smooth, steps=STEPS, target=NOISE)
    return named(three_classes(at_pixels(smooth.frame, image.contrast)))


def by_level_set(smooth: TankImage) -> Classes:
    """Level sets, which are classes by themselves."""
    frame = smooth.frame
    found = level_set_image(frame, start=smooth, steps=STEPS, target=NOISE)
    field, levels = at_pixels(frame, found.field), found.levels
    above, below = (field > 1) & (levels.conductive > 0), (field < -1) & (levels.resistive > 0)
    return named(above.long() - below.long())


def by_outlines(smooth: TankImage) -> Classes:
    """Outlines, from Gauss-Newton's classes on."""
    frame = smooth.frame
    classes, inside = torch.zeros(GRID.shape, dtype=torch.int64), GRID.inside()
    classes[inside] = three_classes(frame.model.image(smooth.contrast, GRID)[inside])
    places, within = pixels()
    return named(fit_outlines(frame, pieces(classes, GRID)).classes(places[within]))


METHODS: dict[str, Callable[[TankImage], Classes]] = {
    "gauss-newton": by_gauss_newton,
    "total-variation": by_total_variation,
    "level-set": by_level_set,
    "outlines": by_outlines,
}


def truth(folder: Path, target: int, version: str = "ground_truth") -> Classes:
    """The classes that there are."""
    stored = scipy.io.loadmat(folder / f"{version}/true{target}.mat")
    return torch.from_numpy(next(v for k, v in stored.items() if k[0] != "_").astype("int64"))


def chosen(scores: dict[str, list[float]], target: int) -> str:
    """The setting that is best on the other targets."""
    others = [k for k in range(len(TARGETS)) if k != target]
    return max(scores, key=lambda name: sum(scores[name][k] for k in others))


def level_one(
    frame: Callable[[int, ReadingErrors], TankFrame],
    truths: list[Classes],
    save: Callable[[dict[str, Any]], None],
) -> tuple[dict[str, Any], dict[str, list[Classes]]]:
    """The scores of each method and setting, and of the settings chosen on the other targets, with the images.

    Seconds are those of the processor for a target, beyond Gauss-Newton's image, with which all begin.
    """
    found: dict[str, Any] = {}
    images: dict[str, list[Classes]] = {}
    smooth = {key: [started(frame(k, errors)) for k in TARGETS] for key, errors in ERRORS.items()}
    for name, method in METHODS.items():
        start = process_time()
        made = {key: [method(one) for one in row] for key, row in smooth.items()}
        scores = {
            key: [float(ktc_score(t, c)) for t, c in zip(truths, row, strict=True)]
            for key, row in made.items()
        }
        pick = [chosen(scores, k) for k in range(len(TARGETS))]
        own = [scores[key][k] for k, key in enumerate(pick)]
        seconds = (process_time() - start) / len(TARGETS) / len(ERRORS)
        best = max(scores, key=lambda key: sum(scores[key]))
        found[name] = {"scores": own, "mean": sum(own) / len(own), "chosen": pick, "seconds": seconds}
        found[name] |= {"settings": scores, "best": best}
        images[name] = [made[key][k] for k, key in enumerate(pick)]
        save(found)
        print(
            f"  {name}: {' '.join(f'{x:.3f}' for x in own)}, mean {found[name]['mean']:.3f}, {seconds:.1f} s",
            flush=True,
        )
    return found, images


def draw(truths: list[Classes], images: dict[str, list[Classes]], path: Path) -> None:
    """Draw the truths, and below them what each method says."""
    rows = {"truth": truths, **images}
    _, axes = plt.subplots(len(rows), len(TARGETS), figsize=(2 * len(TARGETS), 2 * len(rows)), squeeze=False)
    for line, (name, row) in zip(axes, rows.items(), strict=True):
        for axis, classes in zip(line, row, strict=True):
            axis.imshow(classes, vmin=0, vmax=2)
            axis.set(xticks=[], yticks=[])
        line[0].set_ylabel(name)
    plt.tight_layout()
    plt.savefig(path, dpi=80)


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path)
    given = parser.parse_args()
    print("Classical images of the training targets of the Kuopio challenge")
    if given.folder is None or not (given.folder / "ref.mat").exists():
        print("  no measured data: give the training folder of the challenge")
        raise SystemExit
    water = scipy.io.loadmat(given.folder / "ref.mat")
    drive = torch.tensor(water["Injref"].T, dtype=torch.float64)
    data = torch.tensor(water["Uelref"], dtype=torch.float64).reshape(len(drive), -1)
    device = fitted_instrument({"drive": drive, "reference": data})
    truths = [truth(given.folder, k) for k in TARGETS]
    tank = fit_tank(measurement(given.folder, 1, device), width=True)
    print(f"  empty tank: residual {tank.residual:.2%}, width × {tank.width:.3f}", flush=True)
    frame = partial(framed, given.folder, device, tank)
    OUT.mkdir(exist_ok=True)
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    result: dict[str, Any] = {"empty tank": {"residual": tank.residual, "width": tank.width}}
    found, images = level_one(frame, truths, lambda part: write_json(RESULT, result | {"level 1": part}))
    result["level 1"] = found
    draw(truths, images, OUT / "ktc2023.png")
    result["levels"] = at_levels(frame, truths, {name: found[name]["best"] for name in AT_ALL_LEVELS})
    write_json(RESULT, result)
    for name, bar in BARS.items():
        expect(
            found[name]["mean"] >= bar, f"{name}: a mean score of {found[name]['mean']:.3f}, at least {bar}"
        )


def framed(
    folder: Path, device: Instrument, tank: TankFit, target: int, errors: ReadingErrors, level: int = 1
) -> TankFrame:
    """A target at a level."""
    return TankFrame.of(measurement(folder, target, device, level), errors, tank)


def at_levels(
    frame: Callable[..., TankFrame], truths: list[Classes], settings: dict[str, str]
) -> dict[str, dict[str, list[float]]]:
    """The scores at levels 2 to 7, with one setting for each method."""
    found: dict[str, dict[str, list[float]]] = {}
    for name, key in settings.items():
        found[name] = {}
        for level in range(2, 8):
            classes = [METHODS[name](started(frame(k, ERRORS[key], level))) for k in TARGETS]
            scores = [float(ktc_score(t, c)) for t, c in zip(truths, classes, strict=True)]
            found[name][str(level)] = scores
            print(f"  level {level}, {name}: {' '.join(f'{x:.3f}' for x in scores)}", flush=True)
    return found


if __name__ == "__main__":
    main()
