"""The misfit of an image and the data: the image as a body, through the forward solver, against the measurement."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Float64
from torch import Tensor
from torch.nn import functional as fn

from eitlens.domain import Domain, Square, boundary
from eitlens.domain.bodies import SQUARE
from eitlens.errors import InputError
from eitlens.forward import Field, GridSolver, LevelSet
from eitlens.forward.base import Data
from eitlens.forward.currents import CurrentsConfig
from eitlens.forward.grid.conductivity import Conductivity

CELLS = 64  # a side of the coarse grid: an error of about 1e-3; 128 take four times the work
TOLERANCE = 1e-4  # of the solver: a tenth of the grid's own error
_STEEPEST = 4.0  # logits: an outline between two nodes must not hug the less certain one


@dataclass(frozen=True)
class Simulation:
    """The forward map on a coarse grid, read at the nodes of the data's domain: good to about 1e-3 at 64 cells."""

    currents: CurrentsConfig
    domain: Domain
    cells: int = CELLS

    @property
    def possible(self) -> bool:
        """Whether the grid solver, which is for the square, can simulate this body."""
        return self.domain.name == SQUARE.name

    def body(self, cells: int) -> Square:
        """The body on a grid of so many cells a side; the square, or there is no solver for it."""
        body = self.domain.at(cells)
        if body.name != Square.name:
            raise InputError(
                f"misfit and refinement need the grid solver, which is for the square and not for the {body.name}: "
                "do without (misfit=False, refine=0)"
            )
        return Square(cells)

    def __call__(self, conductivity: Conductivity) -> Data:
        """The differences (…, L, N) of a body."""
        square = self.body(self.cells)
        coarse = GridSolver(square, TOLERANCE).difference(conductivity, self.currents.build(square))
        flat = boundary.from_nodes(coarse.detach().flatten(0, -2), self.domain.arclength(), square)
        return flat.view(*coarse.shape[:-1], self.domain.boundary_size)

    def conductivity(self, log_sigma: Float[Tensor, "nx ny"]) -> Data:
        """The differences of a body of this conductivity, over that around it."""
        return self(Field(on_grid(log_sigma, self.cells).exp()))

    def image(self, logits: Float[Tensor, "nx ny"], contrast: float) -> Data:
        """The differences of a body that is `contrast` where the logits are positive, and 1 elsewhere."""
        return self(LevelSet(-on_grid(logits, self.cells).clamp(-_STEEPEST, _STEEPEST), contrast))


def relative_misfit(found: Data, data: Data, seen: Bool[Tensor, "currents boundary"]) -> float:
    """The root mean square over the currents of |found - data| / |data| at the nodes seen; 0 without data."""
    size = (seen * data.square()).sum(-1)
    error = (seen * (found - data).square()).sum(-1)
    return float(torch.where(size > 0, error / size.clamp(min=1e-300), 0.0).mean().sqrt())


def on_grid(image: Float[Tensor, "nx ny"], cells: int) -> Float64[Tensor, "mx my"]:
    """An image on the nodes of another grid of the box (-1, 1)², bilinearly interpolated."""
    values = image.detach().cpu().double()[None, None]
    if image.shape[-1] == cells + 1:
        return values[0, 0]
    return fn.interpolate(values, (cells + 1, cells + 1), mode="bilinear", align_corners=True)[0, 0]
