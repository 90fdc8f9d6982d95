"""A shape, sampler, solver, pattern, input, network, method and file format of a user's own."""

import json
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor, nn

import eitlens as eit
from eitlens.feature.fields import Features
from eitlens.imaging import Options, Reconstruction
from eitlens.models.base import Network, Preset
from eitlens.phantom import Sampler, Shape


@eit.register("shape", "diamond")
@dataclass(frozen=True)
class Diamond(Shape):
    """|x - x0| + |y - y0| < radius."""

    x: float
    y: float
    radius: float = 0.3

    def parameters(self) -> Tensor:
        return torch.tensor([self.x, self.y, self.radius], dtype=torch.float64)

    @staticmethod
    def level_set(parameters: Tensor, points: Tensor) -> Tensor:
        return (points - parameters[..., None, :2]).abs().sum(-1) - parameters[..., None, 2]

    @staticmethod
    def within(parameters: Tensor, points: Tensor, gap: float) -> Tensor:
        return Diamond.level_set(parameters, points) < gap * 2**0.5

    @staticmethod
    def bounds(parameters: Tensor) -> Tensor:
        center, radius = parameters[..., :2], parameters[..., 2:]
        return torch.cat([center - radius, center + radius], -1)

    @staticmethod
    def area(parameters: Tensor) -> Tensor:
        return 2 * parameters[..., 2].square()

    @staticmethod
    def outline(parameters: Tensor, count: int) -> Tensor:
        corners = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]], dtype=torch.float64)
        part = torch.linspace(0, 1, max(2, count // 4) + 1, dtype=torch.float64)[:-1, None]
        unit = torch.cat(
            [a * (1 - part) + b * part for a, b in zip(corners, corners.roll(-1, 0), strict=True)]
        )
        return parameters[..., None, :2] + parameters[..., None, 2:] * unit

    @staticmethod
    def unpack(row: Tensor) -> "Diamond":
        return Diamond(*row.tolist())


@eit.register("sampler", "diamonds")
@dataclass(frozen=True)
class Diamonds(Sampler):
    """Diamonds with centres on the diagonal."""

    kind: ClassVar[type[Shape]] = Diamond
    seed: int
    count: int = 1
    disjoint: bool = False
    gap: float = 0.0
    extent: float = 0.95
    inside: float = 10.0
    outside: float = 1.0

    def draw(self, index: Tensor, attempt: int | Tensor) -> Tensor:
        u = torch.frac(0.618 * (index + self.seed)[..., None, None].double())
        place = (u - 0.5).expand(*index.shape, self.count, 1)
        return torch.cat([place, place, torch.full_like(place, 0.3)], -1)


@eit.register("solver", "own-integral")
class OwnSolver(eit.BoundaryIntegralSolver):
    """The boundary integral equation under another name, at half the data."""

    def difference(self, conductivity: object, currents: Tensor) -> Tensor:
        return super().difference(conductivity, currents) / 2


@eit.register("pattern", "every-third")
def every_third(count: int) -> Tensor:
    """Each electrode against the third after it."""
    rows = torch.eye(count, dtype=torch.float64)
    return rows - rows.roll(3, 1)


@eit.register("input", "doubled")
class Doubled(Features):
    """The harmonic extensions times two."""

    def __call__(self, difference: Tensor) -> Tensor:
        return 2 * super().__call__(difference)

    def to_dict(self) -> dict:
        return super().to_dict() | {"kind": "doubled"}

    @classmethod
    def from_parts(cls, values: dict, tensors: dict) -> "Doubled":
        return super().from_parts({key: value for key, value in values.items() if key != "kind"}, tensors)


@dataclass(frozen=True)
class PlainConfig:
    currents: int = 2
    width: int = 8


class Plain(Network):
    """Two convolutions."""

    reads = "doubled"

    def __init__(self, config: PlainConfig) -> None:
        super().__init__()
        self.config = config
        first = nn.Conv2d(3 * config.currents, config.width, 3, padding=1)
        self.layers = nn.Sequential(first, nn.GELU(), nn.Conv2d(config.width, 1, 3, padding=1))

    def latents(self, features: Tensor) -> dict[str, Tensor]:
        return {"logits": self.layers(features)}


eit.register("network", "plain", Preset("A plain network", Plain, PlainConfig()))


@eit.register("method", "own-method")
def own_method(measurement: eit.Measurement, options: Options) -> Reconstruction:
    """Direct sampling, upside down."""
    found = eit.registered("method")["dsm"](measurement, options)
    return replace(found, image=1 - found.image, method="own-method")


class Cards:
    """Measurements as JSON behind a line of their own."""

    MARK = b"CARDS 1\n"

    @staticmethod
    def recognises(content: bytes) -> bool:
        return content.startswith(Cards.MARK)

    @staticmethod
    def read(content: bytes, limit: int) -> object:
        return json.loads(content[len(Cards.MARK) :])


eit.register("format", "cards", Cards)
