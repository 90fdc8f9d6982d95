"""The unit disk, whose Riemann map is the identity: the body of closed forms. A boundary, but no grid."""

from dataclasses import dataclass
from typing import NoReturn

import torch
from torch import Tensor

from eitlens.domain import ConformalMap, Domain, Extension
from eitlens.domain.base import CPU


@dataclass(frozen=True)
class UnitDisk(Domain):
    """The disk |x| < 1 with equally spaced boundary nodes."""

    boundary_nodes: int

    @property
    def shape(self) -> tuple[int, int]:
        return 0, 0

    @property
    def boundary_size(self) -> int:
        return self.boundary_nodes

    @property
    def perimeter(self) -> float:
        return 2 * torch.pi

    def boundary(self, device: torch.device = CPU) -> Tensor:
        theta = self.arclength(device)
        return torch.stack([torch.cos(theta), torch.sin(theta)], -1)

    def clearance(self, points: Tensor) -> Tensor:
        return 1 - points.norm(dim=-1)

    def conformal_map(self, points: Tensor) -> ConformalMap:
        z = torch.complex(points[..., 0], points[..., 1])
        return ConformalMap(z, torch.ones_like(z), torch.zeros_like(z))

    def nodes(self, device: torch.device = CPU) -> NoReturn:
        raise NotImplementedError

    def extend(self, values: Tensor) -> NoReturn:
        raise NotImplementedError

    def background(self, values: Tensor) -> NoReturn:
        raise NotImplementedError

    def extend_with_gradient(self, values: Tensor) -> Extension:
        raise NotImplementedError
