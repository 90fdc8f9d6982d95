"""Measured tanks through the network for tanks: their readings, their code and their image, in one picture.

    python validation/tank_gallery.py [--real ../shared/real] [--ktc ../shared/ktc2023] [--small docs/images/tank.png]

None of these tanks was trained on. The data are not part of the package: docs/classical.md and docs/tank.md say where
they are from. The truth of a training target of the Kuopio challenge is drawn as a line.
"""

import argparse
from pathlib import Path

import torch
from ktc2023 import pixels, truth
from matplotlib.axes import Axes
from measured_gallery import DATA, MANCHESTER, RPI, SCIOSPEC, UEF, WATER, Scene, read, shrink
from study import OUT, expect

from eitlens.figures.style import picture, show_field
from eitlens.imaging import Reconstruction, TankImager
from eitlens.measure.map_code import mapped_readings
from eitlens.measure.readings import ElectrodeMeasurement
from eitlens.measure.tank import fit_wide_tank

KTC = Path(__file__).parents[2] / "shared" / "ktc2023"
SCENES_A_ROW, GRID, MODES = 2, 128, 60
LARGEST = 0.1  # of the changes may be left by the code
OF_KTC = (
    Scene("Kuopio challenge, training target 1", "training/data1.mat", "training/ref.mat", 0),
    Scene("Kuopio challenge, training target 4", "training/data4.mat", "training/ref.mat", 0),
    Scene(
        "Kuopio challenge, level 4, target 1", "evaluation/level_4/data1.mat", "evaluation/level_4/ref.mat", 0
    ),
    Scene(
        "Kuopio challenge, level 7, target 1", "evaluation/level_7/data1.mat", "evaluation/level_7/ref.mat", 0
    ),
)
OF_OTHERS = (
    Scene("Kuopio 2017, target 2_1", UEF.format("2_1"), UEF.format("1_0"), 0),
    Scene("Kuopio 2017, target 5_2", UEF.format("5_2"), UEF.format("1_0"), 0),
    Scene("Rensselaer, heart and lungs", RPI.format(0), RPI.format(6), 0),
    Scene("Manchester, 2 metal rods", MANCHESTER + "objects/metal_2_90.txt", WATER, 1),
    Scene("Manchester, plastic rod", MANCHESTER + "objects/plastic_1.txt", WATER, -1),
    Scene("Sciospec, cup", SCIOSPEC.format(131950, "100"), SCIOSPEC.format(131950, "00?"), -1),
)


def show_readings(axes: Axes, measurement: ElectrodeMeasurement) -> None:
    """The changes since the reference, a row a stimulation."""
    table = measurement.pattern.spread(measurement.difference)[0]
    most = float(table[table.isfinite()].abs().quantile(0.98))
    axes.imshow(table, aspect="auto", cmap="RdBu_r", vmin=-most, vmax=most, interpolation="nearest")
    axes.set(xlabel="channel", ylabel="stimulation", xticks=[], yticks=[])


def show_code(axes: Axes, imager: TankImager, measurement: ElectrodeMeasurement) -> None:
    """The modes that the readings tell best, with their deviations."""
    code = mapped_readings(measurement, imager.prior, fit=fit_wide_tank(measurement)).code()
    order = code.deviation[0].argsort()[:MODES]
    axes.errorbar(range(MODES), code.mean[0, order], code.deviation[0, order], fmt=".", ms=2, lw=0.6)
    axes.set(xlabel="mode, the surest first", xticks=[])


def show_image(axes: Axes, found: Reconstruction) -> None:
    """The probability of a conductive object less that of a resistive one."""
    show_field(
        axes, found.image.where(found.domain.inside(), torch.nan), "", diverging=True, limits=(-1.0, 1.0)
    )


def main() -> None:
    """Make the picture."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--real", type=Path, default=DATA)
    parser.add_argument("--ktc", type=Path, default=KTC)
    parser.add_argument("--model", help="a network for tanks; the shipped one by default")
    parser.add_argument("--small", type=Path, help="a small copy for a page")
    given = parser.parse_args()
    scenes = [
        (scene, place) for group, place in ((OF_KTC, given.ktc), (OF_OTHERS, given.real)) for scene in group
    ]
    scenes = [(scene, place) for scene, place in scenes if place.is_dir()]
    if not scenes:
        print("  the measured data are not part of the package: give their folders")
        return
    imager, out = TankImager.load(given.model), OUT / "tank_gallery.png"
    rows = -(-len(scenes) // SCENES_A_ROW)
    with picture(out, rows, 3 * SCENES_A_ROW, size=2.2) as axes:
        for k, (scene, place) in enumerate(scenes):
            row, column = k % rows, k // rows * 3
            panels = axes[row, column : column + 3]
            measurement = read(scene, place)
            assert isinstance(measurement, ElectrodeMeasurement)
            (found,) = imager.frames(measurement, GRID)
            show_readings(panels[0], measurement)
            show_code(panels[1], imager, measurement)
            show_image(panels[2], found)
            if "training" in scene.file:
                grid, _ = pixels()
                known = truth(place / "training", int(scene.file[-5])) > 0
                panels[2].contour(grid[..., 0], grid[..., 1], known, [0.5], colors="black", linewidths=0.8)
            panels[1].set_title(scene.title, fontsize=8)
            expect(
                found.misfit is not None and found.misfit < LARGEST,
                f"{scene.title}: misfit {found.misfit:.1%}",
            )
            low, high = float(found.image.min()), float(found.image.max())
            expect(scene.sign * (high + low) >= 0, f"{scene.title}: {low:.2f} to {high:.2f}")
    print(out)
    if given.small is not None:
        shrink(out, given.small)


if __name__ == "__main__":
    main()
