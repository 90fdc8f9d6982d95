"""Values on the boundary nodes, as they come from a user or a device."""

from jaxtyping import Float64
from torch import Tensor

from eitlens import checks
from eitlens.domain.base import Domain
from eitlens.errors import InputError


def check_boundary_values(domain: Domain, values: object, name: str) -> Float64[Tensor, "*batch boundary"]:
    """Boundary data as float64, refused when they are not finite or not on the boundary nodes."""
    data = checks.physics(values, name)
    if data.ndim == 0 or data.shape[-1] != domain.boundary_size:
        got = data.shape[-1] if data.ndim else 1
        raise InputError(
            f"{name}: expected {domain.describe_boundary()}, got {got}{domain.explain_boundary(got)}"
        )
    return checks.finite(data, name)
