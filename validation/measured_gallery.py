"""Classical images of measured tanks, of six devices, in one picture.

    python validation/measured_gallery.py [--data ../shared/real] [--methods greit laplace] [--out FILE] [--small FILE]

Difference images of targets against the empty tank (or an earlier time): seven targets of UEF 2017 beside their
photographs, rods of Manchester, Montreal and IIRC, glass and metal of Ottawa, the chest phantom of Rensselaer, and the
cup of Sciospec. The data are not part of the package: docs/classical.md says where they are from. The study asks of
each picture what is known of its target: less or more conductive than the water and, where photographs show it, where.
"""

import argparse
import math
from pathlib import Path
from typing import NamedTuple

import matplotlib.image as images
import torch
from matplotlib.axes import Axes
from PIL import Image
from study import OUT, expect

from eitlens.classical.merit import position_error
from eitlens.figures.style import picture, show_field
from eitlens.imaging import METHODS, Options, Reconstruction
from eitlens.measure import Setup, files
from eitlens.measure.base import Measurement

DATA = Path(__file__).parents[2] / "shared" / "real"
SCENES_A_ROW = 2
GRID = 64
WIDTH, COLOURS = 860, 96  # of the small picture
NEAR = 0.1
"""Radii of the tank: of a target's image from where the photograph shows it."""


class Scene(NamedTuple):
    """A target: its files, and what photographs or notes say of it."""

    title: str
    file: str
    reference: str | None
    sign: int
    """-1 for a target less conductive than the water, 1 for a more conductive one, 0 for both or unknown."""
    place: tuple[float, float] | None = None
    """Where it is, in units of the tank's radius, where that is known of a single target."""
    photo: str = ""
    frame: int = 0
    setup: Setup | None = None


UEF = "uef2017/datamat_{}.mat"
MANCHESTER = "eidors/manchester2004/ds_data_2004/"
WATER = MANCHESTER + "homogeneous/water_*.txt"
MONTREAL, OTTAWA = "eidors/montreal_data_1995.mat::zc_", "eidors/ottawa_2dphantom_data_2008.mat::phantomdata_"
SCIOSPEC = "sciospec/{}_setup_00{}.eit"
RPI = "eidors/rpi/ACT200{}r.txt"
PHOTOS = (
    ("1_1", -1, (-0.01, 0.47)),
    ("1_2", 1, (-0.06, 0.28)),
    ("1_3", 1, (-0.10, 0.34)),
    ("1_4", 1, (-0.07, 0.31)),
    ("2_1", -1, None),
    ("2_2", -1, None),
    ("2_4", 1, None),
)
"""Targets with a photograph; the places of single ones are the centres of gravity of the drawn shapes."""
SCENES = (
    *(
        Scene(
            f"UEF 2017, target {k}", UEF.format(k), UEF.format("1_0"), sign, place, f"uef2017/photos/{k}.jpg"
        )
        for k, sign, place in PHOTOS
    ),
    Scene("Rensselaer, heart and lungs", RPI.format(0), RPI.format(6), 0, photo="eidors/rpi/photo.jpg"),
    Scene("Manchester, metal rod", MANCHESTER + "objects/metal_1.txt", WATER, 1),
    Scene("Manchester, plastic rod", MANCHESTER + "objects/plastic_1.txt", WATER, -1),
    Scene("Manchester, 2 metal rods, 90°", MANCHESTER + "objects/metal_2_90.txt", WATER, 1),
    Scene("Manchester, 2 plastic rods, 180°", MANCHESTER + "objects/plastic_2_180.txt", WATER, -1),
    Scene("Montreal, insulating rod", MONTREAL + "demo3", MONTREAL + "h_demo3", -1),
    Scene("Montreal, insulating rod, other run", MONTREAL + "demo4", MONTREAL + "h_demo4", -1),
    Scene("IIRC, rotating rod, frame 0", "eidors/iirc_data_2006.mat", None, 0),
    Scene("IIRC, rotating rod, frame 30", "eidors/iirc_data_2006.mat", None, 0, frame=30),
    Scene("Ottawa, glass, round", OTTAWA + "21", OTTAWA + "20", -1),
    Scene("Ottawa, metal, round", OTTAWA + "22", OTTAWA + "20", 1),
    Scene("Ottawa, glass, pressed at two points", OTTAWA + "24", OTTAWA + "23", -1),
    Scene("Ottawa, glass, pressed at three", OTTAWA + "27", OTTAWA + "26", -1),
    Scene("Sciospec, cup, adjacent", SCIOSPEC.format(131950, "100"), SCIOSPEC.format(131950, "00?"), -1),
    Scene("Sciospec, cup, skip 2", SCIOSPEC.format(132148, "100"), SCIOSPEC.format(132148, "00?"), -1),
)


def read(scene: Scene, data: Path) -> Measurement:
    """The frame of a scene."""
    reference = None if scene.reference is None else str(data / scene.reference)
    return files.read(str(data / scene.file), scene.setup, reference).frame(scene.frame)


def show(axes: Axes, found: Reconstruction) -> None:
    """One image."""
    seen = found.image.where(found.domain.inside(), torch.nan)
    show_field(axes, seen, f"{found.method}, S/m", diverging=True)


def photograph(axes: Axes, path: Path) -> None:
    """The photograph, or nothing."""
    axes.axis("off")
    if path.is_file():
        axes.imshow(images.imread(path))


def check(scene: Scene, found: Reconstruction) -> None:
    """Expect the sign of the change, and its place where that is known."""
    low, high = float(found.image.min()), float(found.image.max())
    told = f"{scene.title}, {found.method}: {low:.3g} to {high:.3g} S/m"
    expect(scene.sign * (high + low) >= 0, told)
    if scene.place is not None:
        error = position_error(found.domain, found.image, scene.place)
        expect(error < NEAR, f"{scene.title}, {found.method}: {error:.2f} radii from where it is")


def shrink(picture_file: Path, small: Path) -> None:
    """The picture for a page, in few colours."""
    whole = Image.open(picture_file).convert("RGB")
    size = (WIDTH, whole.height * WIDTH // whole.width)
    smaller = whole.resize(size, Image.Resampling.LANCZOS)
    few = smaller.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(small, optimize=True)


def main() -> None:
    """Make the picture."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--methods", nargs="+", default=["greit", "laplace"])
    parser.add_argument("--photos", action="store_true", help="with the photographs, which belong to others")
    parser.add_argument("--small", type=Path, help="a small copy, as docs/images/measured_gallery.png")
    parser.add_argument("--only", default="", help="scenes with this in their title")
    parser.add_argument("--out", type=Path, default=OUT / "measured_gallery.png")
    given = parser.parse_args()
    if not given.data.is_dir():
        print(f"  {given.data} is not there: the measured data are not part of the package")
        return
    scenes = [scene for scene in SCENES if given.only in scene.title]
    rows, width = math.ceil(len(scenes) / SCENES_A_ROW), 1 + len(given.methods)
    with picture(given.out, rows, SCENES_A_ROW * width, size=2.4) as axes:
        for axis in axes.flat:
            axis.axis("off")
        for k, scene in enumerate(scenes):
            row, column = k % rows, k // rows * width
            measurement = read(scene, given.data)
            found = [METHODS[name](measurement, Options(n=GRID)) for name in given.methods]
            if given.photos:
                photograph(axes[row, column], given.data / scene.photo)
            axes[row, column].set_title(scene.title, fontsize=8)
            for axis, one in zip(axes[row, column + 1 :], found, strict=False):
                axis.axis("on")
                show(axis, one)
            for one in found:
                check(scene, one)
    print(given.out)
    if given.small is not None:
        shrink(given.out, given.small)


if __name__ == "__main__":
    main()
