"""Your own network: a kind of bodies the paper does not have (one insulating polygon), a data set of them, a training.

    python examples/train_your_own.py         # a few minutes on a laptop

So short a training learns roughly where the inclusion is; for sharp images see docs/training.md.
"""

from dataclasses import replace
from pathlib import Path

from eitlens.dataset import DataConfig, Dataset, SamplerConfig, SolverConfig, generate
from eitlens.evaluate.score import score
from eitlens.figures.training import learning_curve
from eitlens.forward.currents import CurrentsConfig
from eitlens.models.trained import Trained
from eitlens.train import SourceConfig, preset, train
from eitlens.train.folder import read_log

POLYGONS = SamplerConfig("polygons", seed=1, count=1, inside=0.1)


def main(out: Path, n: int = 64, samples: int = 2048, data: int = 512) -> tuple[float, float]:
    """Make a data set and train on it, beside `out`; the cross entropy at the start and on the test split."""
    folder = out.parent / "own"
    recipe = DataConfig(
        "insulating", n, data, 32, 32, 64, CurrentsConfig("cosine", 3), POLYGONS, SolverConfig("grid")
    )
    generate(recipe, folder / "data", device="cpu")
    source = SourceConfig(folder=str(folder / "data"))
    config = replace(preset("smoke"), name="own", data=source, samples=samples)
    train(config, folder / "run", "cpu", observers=(tell,))
    rows = read_log(folder / "run" / "log.csv")
    learning_curve(rows, out)
    found = score(Trained.load(folder / "run"), Dataset.open(folder / "data").split("test"))
    return float(rows[0]["loss"]), found.metrics["cross_entropy"].mean


def tell(row: dict[str, float]) -> None:
    """A line for each validation."""
    if "soft_dice" in row:
        print(f"{row['progress']:.0%}: loss {row['loss']:.3f}, Dice {row['soft_dice']:.3f}", flush=True)


if __name__ == "__main__":
    before, after = main(Path("out/train_your_own.png"))
    print(f"cross entropy {before:.3f} at the start, {after:.3f} on the test split; curves: out")
