"""Why two classical images score as they do: GREIT beside Tikhonov, and what a threshold sees of Gauss-Newton's.

    python validation/classical_reasons.py [--tanks 12] [--out FILE] [--toy]

The tanks of `validation/classical.py` with noise of 10⁻³, in two tables:

- `greit`: Dice, and the area that is seen over that of the inclusions, of Tikhonov and of GREIT for noise figures and
  radii of a point's image other than the usual ones;
- `thresholds`: Dice of Gauss-Newton and of `laplace` for four rules: `half` of the largest change of σ; half of the
  largest of each sign for itself (`signs`); Otsu's threshold of the change (`change`); Otsu's of |σ - σ0| / (σ + σ0),
  where half and twice as conductive depart alike (`contrast`, the rule of the study and of `eitlens compare`).

docs/classical.md quotes what `--out results/classical_reasons.json` writes. `--toy` takes two tanks of 16 electrodes.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from study import OUT
from torch import Tensor

from classical import COUNTS, GRID, SIGMA, TANK, readings, tanks
from eitlens.classical import LinearImage, fit_greit
from eitlens.evaluate.images import dice, foreground, otsu
from eitlens.files import write_json
from eitlens.imaging import METHODS, Options
from eitlens.measure.readings import ElectrodeMeasurement
from eitlens.phantom import indicator

TAU = 1e-3
FIGURES = ((0.5, 0.2), (0.5, 0.1), (1.0, 0.2), (1.0, 0.1), (2.0, 0.1))
"""Noise figures, and radii of a point's image; the first are GREIT's own."""
INSIDE = TANK.inside()

Record = dict[str, Any]
Rule = Callable[[Tensor], Tensor]


def half(change: Tensor) -> Tensor:
    """Above half of the largest change."""
    return change.abs() > change.abs().max() / 2


def each_sign(change: Tensor) -> Tensor:
    """Above half of the largest rise, and below half of the largest fall."""
    return (change > change.clamp(min=0).max() / 2) | (-change > (-change).clamp(min=0).max() / 2)


def of_change(change: Tensor) -> Tensor:
    """Above Otsu's threshold of the change."""
    return INSIDE & (change.abs() > otsu(change.abs()[INSIDE]))


def of_contrast(change: Tensor) -> Tensor:
    """As the study and `eitlens compare` have it."""
    return foreground(change, "change", TANK, SIGMA)


RULES: dict[str, Rule] = {"half": half, "signs": each_sign, "change": of_change, "contrast": of_contrast}


def seen(images: Tensor, rule: Rule = of_contrast) -> Record:
    """Dice, and the area seen over the true one, means of all tanks."""
    rows = []
    for change, body in zip(images, tanks(len(images)), strict=True):
        truth, found = indicator(TANK, body), rule(change) & INSIDE
        rows.append([dice(found, truth), float(found.sum() / truth.sum())])
    return dict(zip(("dice", "area"), torch.tensor(rows).mean(0).tolist(), strict=True))


def frames_of(electrodes: int, count: int) -> ElectrodeMeasurement:
    """The frames of the study's tanks."""
    data = readings(electrodes, TAU, count)
    assert isinstance(data, ElectrodeMeasurement)
    return data


def greit(electrodes: int, count: int) -> Record:
    """Tikhonov, each frame with its own strength, and GREIT with its noise figures."""
    data = frames_of(electrodes, count)
    image, frames = LinearImage.fit(data.frame(0), "tikhonov"), data.difference[:, None]
    plain = torch.cat([image.chosen(frame)(frame, GRID) for frame in frames])
    told: Record = {"tikhonov": seen(plain)}
    for figure, size in FIGURES:
        fitted = fit_greit(data.frame(0), noise_figure=figure, size=size)
        told[f"{figure:g}-{size:g}"] = seen(fitted(data.difference, GRID))
    return told


def thresholds(electrodes: int, count: int) -> Record:
    """Dice by each rule."""
    data, told = frames_of(electrodes, count), {}
    for method in ("laplace", "gauss-newton"):
        found = [METHODS[method](data.frame(k), Options(n=GRID)) for k in range(count)]
        images = torch.stack([one.image for one in found])
        told[method] = {name: seen(images, rule)["dice"] for name, rule in RULES.items()}
    return told


def main() -> None:
    """Run both."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tanks", type=int, default=12)
    parser.add_argument("--out", type=Path, default=OUT / "classical_reasons.json")
    parser.add_argument("--toy", action="store_true")
    given = parser.parse_args()
    count, layouts = (2, COUNTS[:1]) if given.toy else (given.tanks, COUNTS)
    record: Record = {"tanks": count, "greit": {}, "thresholds": {}}
    for electrodes in layouts:
        record["greit"][f"{electrodes}"] = greit(electrodes, count)
        record["thresholds"][f"{electrodes}"] = thresholds(electrodes, count)
        print(electrodes, record["greit"][f"{electrodes}"], record["thresholds"][f"{electrodes}"], flush=True)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    write_json(given.out, record)


if __name__ == "__main__":
    main()
