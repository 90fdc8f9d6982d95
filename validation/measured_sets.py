"""Measured sets of other laboratories: each is read, and the complete electrode model fitted to its empty tank.

    python validation/measured_sets.py FOLDER [--out results/measured_sets.json]

FOLDER holds `ktc2023` and `real`, which are not part of the package; where the files come from is in
docs/your_tank.md. For each set: how many frames and readings, whether the file told everything by itself, and the
residual of the empty tank's readings after conductivity and one contact impedance were fitted, and then the
width of the electrodes as well. Only files of water, or the mean of all frames where there is no water, are fitted.
"""

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import torch
from study import expect

from eitlens.files import write_json
from eitlens.measure import Measurement, Setup, files
from eitlens.measure.readings import ElectrodeMeasurement
from eitlens.measure.tank import fit_tank

_EIDORS = "real/eidors"
_MANCHESTER = f"{_EIDORS}/manchester2004/ds_data_2004"
_MONTREAL = f"{_EIDORS}/montreal_data_1995.mat"
_OTTAWA = f"{_EIDORS}/ottawa_2dphantom_data_2008.mat::phantomdata"


class MeasuredSet(NamedTuple):
    """Files, what they are compared with, what has to be said of them, and the shape that is expected.

    `shape` is frames, readings, electrodes and stimulations; `bar` what the residual must not exceed, or None where the
    readings are not those of a tank with known electrodes and amplifiers.
    """

    path: str
    shape: tuple[int, int, int, int]
    bar: float | None
    reference: str | None = None
    setup: Setup | None = None


SETS = {
    "ktc-training": MeasuredSet("ktc2023/training", (4, 2356, 32, 76), 0.09),
    **{
        f"ktc-level-{k}": MeasuredSet(f"ktc2023/evaluation/level_{k}", (3, 2356, 32, 76), 0.09)
        for k in range(1, 8)
    },
    "uef2017": MeasuredSet("real/uef2017/*.mat", (38, 1264, 16, 79), 0.02, "real/uef2017/datamat_1_0.mat"),
    "act3-text": MeasuredSet(
        f"{_EIDORS}/rpi/ACT2000r.txt", (1, 992, 32, 31), 0.04, f"{_EIDORS}/rpi/ACT2006r.txt"
    ),
    "act3-mat": MeasuredSet(f"{_EIDORS}/Rensselaer_EIT_Phantom.mat", (1, 992, 32, 31), 0.04),
    "manchester2004": MeasuredSet(
        f"{_MANCHESTER}/objects", (9, 208, 16, 16), 0.15, f"{_MANCHESTER}/homogeneous"
    ),
    "iirc2006": MeasuredSet(f"{_EIDORS}/iirc_data_2006.mat", (100, 208, 16, 16), 0.07),
    **{
        f"montreal-{name}": MeasuredSet(
            f"{_MONTREAL}::zc_{name}", (frames, 208, 16, 16), None, f"{_MONTREAL}::zc_h_{name}"
        )
        for name, frames in (("demo3", 99), ("demo4", 33))
    },
    "montreal-breathing": MeasuredSet(f"{_MONTREAL}::zc_resp", (34, 208, 16, 16), None),
    **{
        f"ottawa-{name}": MeasuredSet(f"{_OTTAWA}_{first + 1}", (1, 208, 16, 16), bar, f"{_OTTAWA}_{first}")
        for name, first, bar in (("round", 20, 0.28), ("two-points", 23, 0.16), ("three-points", 26, 0.13))
    },
    "sciospec-adjacent": MeasuredSet(
        "real/sciospec/131950_*.eit", (6, 208, 16, 16), 0.1, "real/sciospec/131950_setup_0000?.eit"
    ),
    "sciospec-skip-2": MeasuredSet(
        "real/sciospec/132148_*.eit", (6, 192, 16, 16), 0.06, "real/sciospec/132148_setup_0000?.eit"
    ),
    "draeger": MeasuredSet(
        "real/draeger/ID_SC_10_60.eit", (60, 208, 16, 16), None, None, Setup(body="thorax")
    ),
}


def read(chosen: MeasuredSet, folder: Path) -> ElectrodeMeasurement:
    """The measurement of a set."""
    reference = None if chosen.reference is None else folder / chosen.reference
    found: Measurement = files.read(folder / chosen.path, chosen.setup, reference)
    assert isinstance(found, ElectrodeMeasurement)
    return found


def shape(found: ElectrodeMeasurement) -> tuple[int, int, int, int]:
    """Frames, readings, electrodes, stimulations."""
    return found.frames, found.pattern.count, found.electrodes.count, len(found.pattern.stimulation)


def before_gains(chosen: MeasuredSet, folder: Path) -> float:
    """The residual of a reference as it is in the file, with a gain for each distance from the pair that drives.

    The device of Montreal amplifies readings the more, the farther they are from that pair, by factors nobody says.
    """
    assert chosen.reference is not None
    water = files.read(folder / chosen.reference)
    assert isinstance(water, ElectrodeMeasurement)
    model, measured = fit_tank(water).readings, water.voltages[0]
    pair = torch.nonzero(water.pattern.mask)
    distance = (pair[:, 1] - pair[:, 0]) % water.electrodes.count
    rest = measured.clone()
    for step in range(water.electrodes.count):
        at = distance == step
        if not bool(at.any()):
            continue
        rest[at] -= model[at] * (model[at] @ measured[at]) / model[at].square().sum()
    return float(rest.norm() / measured.norm())


def told(name: str, chosen: MeasuredSet, folder: Path) -> dict[str, Any]:
    """What a set is, and how well its tank is explained."""
    found = read(chosen, folder)
    expect(shape(found) == chosen.shape, f"{name}: {shape(found)} frames, readings, electrodes, stimulations")
    rows: dict[str, Any] = dict(
        zip(("frames", "readings", "electrodes", "stimulations"), shape(found), strict=True)
    )
    rows |= {"by content": chosen.setup is None, "body": found.domain.name, "notes": list(found.notes)}
    if any("gain" in note for note in found.notes):
        return rows | {"fitted": "reference", "residual-gains": before_gains(chosen, folder)}
    plain, wide = fit_tank(found), fit_tank(found, width=True)
    rows |= {"fitted": plain.fitted, "conductivity": plain.conductivity, "polarity": plain.polarity}
    if chosen.bar is not None:
        expect(plain.residual < chosen.bar and plain.polarity == 1, f"  residual {plain.residual:.3f}")
    return rows | {"residual": plain.residual, "residual-width": wide.residual, "width": wide.width}


def main() -> None:
    """Read all, fit all, write the table."""
    options = argparse.ArgumentParser()
    options.add_argument("folder", type=Path)
    options.add_argument("--out", type=Path, default=Path("results/measured_sets.json"))
    given = options.parse_args()
    print("Measured sets of other laboratories", flush=True)
    if not given.folder.exists():
        print(f"  {given.folder} is not there")
        return
    write_json(given.out, {name: told(name, chosen, given.folder) for name, chosen in SETS.items()})


if __name__ == "__main__":
    main()
