"""A data set on disk: simulated in checksummed files, read back, and looked at.

    python examples/data_set.py

Sample k is a pure function of the configuration and k: the same on any machine, however the work is split.
"""

import tempfile
from pathlib import Path

from eitlens.dataset import DataConfig, Dataset, SamplerConfig, SolverConfig, check, generate
from eitlens.figures.style import picture, show_field
from eitlens.forward.currents import CurrentsConfig

RECIPE = DataConfig(
    *("two-ellipses", 48, 24, 4, 4, 16, CurrentsConfig("cosine", 3)),
    SamplerConfig("ellipses", seed=3, count=2, disjoint=True),
    SolverConfig("boundary-integral", tolerance=1e-6),
)


def main(out: Path) -> float:
    """Generate, check and read it, draw four samples; the share of the bodies that is inside of inclusions."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "data"
        generate(RECIPE, folder)
        report = check(folder)
        train = Dataset.open(folder).split("train")
        masks, difference = train.mask[:4], train.difference[:4]
    with picture(out, 2, 4, 1.8) as axes:
        for k in range(4):
            show_field(axes[0, k], masks[k].double(), f"sample {k}", bar=False)
            axes[1, k].plot(difference[k].T, linewidth=0.8)
    return report.area


if __name__ == "__main__":
    print(f"inclusions cover {main(Path('out/data_set.png')):.1%}")
