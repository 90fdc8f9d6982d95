"""From a measurement to an image, with a trained network: calibration, warnings, fine-tuning.

    python validation/imaging.py [NAME or FOLDER] [--phantoms 32] [--device cpu] [--out FILE]

Test phantoms of the paper's kind (overlaps allowed), as many currents as the network reads. Without a name the
default network that comes with the package; without any the study says so and ends. docs/measurements.md quotes what
`--out results/imaging.json` keeps.

1. The reliability after calibration: no worse than before, at τ = 0, 0.05, 0.2.
2. Warnings: the share of images flagged for contrast or amplitude, at contrasts 2, 5, 10, 50; false ones are rare.
3. Fine-tuning: neither the mean misfit nor the mean Dice gets worse, at τ = 0, 0.05, 0.2.
"""

from dataclasses import asdict, dataclass

import torch
from study import OUT, expect, subject
from torch import Tensor

from eitlens.domain import Square
from eitlens.evaluate.metrics import cross_entropy, hard_dice
from eitlens.figures.evaluation import calibration_figure
from eitlens.files import write_json
from eitlens.forward import GridSolver, add_noise
from eitlens.imaging import Imager
from eitlens.imaging import calibrate as fitting
from eitlens.measure import Measurement
from eitlens.phantom import PhantomBatch, indicator

LEVELS, CONTRASTS = (0.0, 0.05, 0.2), (2.0, 5.0, 10.0, 50.0)
STEPS, SEED, FEW = 12, 11, 8


@dataclass(frozen=True)
class Tuned:
    """Means over the phantoms, before and after the fine-tuning."""

    tau: float
    dice: tuple[float, float]
    entropy: tuple[float, float]
    misfit: tuple[float, float]
    refined: int
    worse: int
    seconds: float


def scores(images: list[Tensor], truth: Tensor) -> tuple[Tensor, Tensor]:
    """Dice and cross entropy of probabilities, each limited to 10⁻⁴ from 0 and 1."""
    logits, target = torch.logit(torch.stack(images), 1e-4), truth.double()
    return hard_dice(logits, target), cross_entropy(logits, target)


def tuned(imager: Imager, data: Tensor, truth: Tensor, tau: float) -> Tuned:
    """Every phantom with and without the fine-tuning."""
    given = [Measurement.of_difference(one) for one in add_noise(data, tau, SEED)]
    plain, fine = [imager(one) for one in given], [imager(one, refine=STEPS) for one in given]
    before, after = (scores([one.image for one in part], truth) for part in (plain, fine))
    misfit = [sum(one.misfit or 0.0 for one in part) / len(part) for part in (plain, fine)]
    return Tuned(
        tau,
        (float(before[0].mean()), float(after[0].mean())),
        (float(before[1].mean()), float(after[1].mean())),
        (misfit[0], misfit[1]),
        sum(one.refinement is not None and one.refinement.steps > 0 for one in fine),
        int((after[0] < before[0] - 0.01).sum()),
        sum(one.seconds for one in fine) / len(fine),
    )


def flagged(
    imager: Imager, batch: PhantomBatch, contrast: float, tau: float, refine: int = 0
) -> dict[str, float]:
    """The share of phantoms with each kind of warning."""
    data = measured(imager, batch.with_conductivity(contrast, 1.0))
    given = [Measurement.of_difference(one) for one in add_noise(data, tau, SEED)]
    found = [imager(one, refine=refine) for one in given]
    kinds = [{flag.kind for flag in one.warnings} for one in found]
    single = {kind: sum(kind in one for one in kinds) / len(kinds) for kind in ("amplitude", "contrast")}
    return single | {"either": sum(bool(one & {"amplitude", "contrast"}) for one in kinds) / len(kinds)}


def shares(imager: Imager, batch: PhantomBatch, contrast: float) -> dict[str, dict[str, float]]:
    """The warnings at each noise level, and for a few at the middle one with fine-tuning, which takes seconds each."""
    found = {f"{tau:g}": flagged(imager, batch, contrast, tau) for tau in LEVELS}
    return found | {f"{LEVELS[1]:g}-refined": flagged(imager, batch[:FEW], contrast, LEVELS[1], STEPS)}


def measured(imager: Imager, batch: PhantomBatch) -> Tensor:
    """The data f - f0 for the currents of the reader."""
    square = Square(imager.reader.n)
    return GridSolver(square).difference(batch, imager.reader.currents.build(square))


def main() -> None:
    """Run the study."""
    imager, recipe, batch, out = subject("Imaging: calibration, warnings, fine-tuning", "imaging.json", 32)
    data, truth = measured(imager, batch), indicator(Square(imager.reader.n), batch)

    effects = fitting.measure(
        imager.reader,
        imager.calibration,
        fitting.first_samples(imager.reader, recipe, "test", len(batch)),
        LEVELS,
    )
    calibration_figure(effects, OUT / "imaging_calibration.png")
    reliability = {f"{e.tau:g}": (e.before.error(), e.after.error()) for e in effects}
    for tau, (before, after) in reliability.items():
        print(f"  τ = {tau}: calibration error {before:.4f}, calibrated {after:.4f}", flush=True)

    warnings = {f"{c:g}": shares(imager, batch, c) for c in CONTRASTS}
    for contrast, found in warnings.items():
        told = ", ".join(f"{one['either']:.0%} at τ = {case}" for case, one in found.items())
        print(f"  contrast {contrast}: flagged {told}", flush=True)

    tuning = [tuned(imager, data, truth, tau) for tau in LEVELS]
    for one in tuning:
        print(
            f"  τ = {one.tau:g}: Dice {one.dice[0]:.3f} to {one.dice[1]:.3f}, cross entropy {one.entropy[0]:.4f} to "
            f"{one.entropy[1]:.4f}, misfit {one.misfit[0]:.4f} to {one.misfit[1]:.4f}, {one.refined} of "
            f"{len(batch)} refined, {one.worse} lost more than 0.01, {one.seconds:.1f} s each",
            flush=True,
        )
    record = {
        "model": imager.name,
        "phantoms": len(batch),
        "reliability": reliability,
        "warnings": warnings,
    }
    record |= {"refine": {f"{one.tau:g}": asdict(one) for one in tuning}}
    write_json(out, record)
    for one in tuning:
        expect(one.misfit[1] <= one.misfit[0], f"τ = {one.tau:g}: fine-tuning does not raise the misfit")
        expect(one.dice[1] >= one.dice[0], f"τ = {one.tau:g}: fine-tuning does not lower the Dice score")
    for case, share in warnings["10"].items():
        # Fine-tuning sees only a few bodies, and can add doubts about the contrast alone.
        kind = "contrast" if "refined" in case else "either"
        expect(share[kind] <= 0.1, f"contrast 10, τ = {case}: at most a tenth is flagged, {share[kind]:.0%}")
    for tau, (before, after) in reliability.items():
        expect(after <= before + 0.002, f"τ = {tau}: the calibration makes nothing worse")


if __name__ == "__main__":
    main()
