"""Your own network: a few convolutions on φ and ∇φ, trained for seconds on bodies with one inclusion.

python examples/own_network.py
"""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import torch
from torch import Tensor, nn

import eitlens as eit
from eitlens.evaluate.metrics import area_under_curve
from eitlens.feature import Features
from eitlens.figures.style import outline, picture, show_field
from eitlens.forward.currents import CurrentsConfig
from eitlens.models.base import Network
from eitlens.phantom import level_set

CELLS = 32


@dataclass(frozen=True)
class PlainConfig:
    """Its settings."""

    currents: int = 3
    width: int = 16


class Plain(Network):
    """Three convolutions. `eit.register("network", …)` would give it a name for recipes: docs/extending.md."""

    def __init__(self, config: PlainConfig) -> None:
        super().__init__()
        self.config, sizes = config, (3 * config.currents, config.width, config.width, 1)
        layers = [nn.Conv2d(a, b, 5, padding=2) for a, b in pairwise(sizes)]
        self.layers = nn.Sequential(layers[0], nn.GELU(), layers[1], nn.GELU(), layers[2])

    def latents(self, features: Tensor) -> dict[str, Tensor]:
        """The logits are all it has."""
        return {"logits": self.layers(features)}


def main(out: Path, steps: int = 60) -> float:
    """Train, image a body that was not in the training, draw; the area under the ROC curve."""
    torch.manual_seed(0)
    square = eit.Square(CELLS)
    bodies = eit.EllipseSampler(seed=1, count=1).batch(0, 257)
    data = eit.BoundaryIntegralSolver(square, tolerance=1e-4).difference(
        bodies, eit.currents.cosine(square, 3)
    )
    features = Features(CELLS, CurrentsConfig("cosine", 3)).scaled(data)(data)
    target = eit.indicator(square, bodies).float()[:, None]
    network = Plain(PlainConfig())
    optimiser = torch.optim.Adam(network.parameters(), lr=3e-3)
    for step in range(steps):
        chosen = torch.arange(32) + 32 * (step % 8)  # the last body, number 256, is never shown
        loss = nn.functional.binary_cross_entropy_with_logits(network(features[chosen]), target[chosen])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    image = network(features[-1:]).detach().sigmoid()[0, 0].double()
    score = area_under_curve(image, target[-1, 0].bool())
    with picture(out, 1, 1) as axes:
        show_field(axes[0, 0], image, f"after {steps} steps: AUC {score:.3f}", limits=(0, 1))
        outline(axes[0, 0], level_set(square, bodies.phantom(256)))
    return score


if __name__ == "__main__":
    print(f"area under the ROC curve: {main(Path('out/own_network.png')):.3f}")
