"""The feature map."""

import pytest
import torch

from eitlens.domain import Square
from eitlens.errors import InputError
from eitlens.feature import harmonic_extension
from eitlens.forward import BoundaryIntegralSolver, currents
from eitlens.phantom import EllipseSampler

SQUARE = Square(30)
DATA = BoundaryIntegralSolver(SQUARE).difference(
    EllipseSampler(seed=3, disjoint=True).batch(0, 2), currents.cosine(SQUARE, 3)
)


def test_channels_are_the_extensions_then_their_x_then_their_y_derivatives() -> None:
    channels = harmonic_extension(SQUARE, DATA, gradient=True)
    assert channels.shape == (2, 9, 31, 31)
    value, dx, dy = SQUARE.extend_with_gradient(DATA)
    torch.testing.assert_close(channels, torch.cat([value, dx, dy], 1), rtol=0, atol=0)
    torch.testing.assert_close(harmonic_extension(SQUARE, DATA), value, rtol=0, atol=0)


def test_one_sample_needs_no_batch() -> None:
    torch.testing.assert_close(
        harmonic_extension(SQUARE, DATA[0], gradient=True), harmonic_extension(SQUARE, DATA, gradient=True)[0]
    )


def test_data_even_in_y_have_channels_even_in_y() -> None:
    """cos(lθ) is even in y; axis 1 of an image is y."""
    g = currents.cosine(SQUARE, 3)
    phi = harmonic_extension(SQUARE, g)
    torch.testing.assert_close(phi.flip(-1), phi, rtol=0, atol=1e-13)


def test_no_inclusion_gives_no_signal() -> None:
    assert not bool(harmonic_extension(SQUARE, torch.zeros(3, 120, dtype=torch.float64), gradient=True).any())


def test_single_precision_data_are_computed_in_double() -> None:
    phi = harmonic_extension(SQUARE, DATA.float())
    assert phi.dtype == torch.float64
    torch.testing.assert_close(phi, harmonic_extension(SQUARE, DATA), rtol=0, atol=1e-6)


def test_bad_data_are_refused() -> None:
    with pytest.raises(InputError, match=r"^f - f0: .*120.*116.*corners"):
        harmonic_extension(SQUARE, DATA[..., :116])
    with pytest.raises(InputError, match=r"^f - f0: 720 of 720 "):
        harmonic_extension(SQUARE, DATA * torch.nan)
