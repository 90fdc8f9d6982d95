"""Ellipses."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from eitlens.errors import InputError
from eitlens.phantom import Ellipse, circle

ellipses = st.builds(
    Ellipse,
    st.tuples(st.floats(-1, 1), st.floats(-1, 1)),
    st.tuples(st.floats(0.01, 1), st.floats(0.01, 1)),
    st.floats(-10, 10),
)


@given(ellipses, st.floats(0, 2 * math.pi), st.floats(0, 2).filter(lambda r: abs(r - 1) > 1e-6))
@settings(max_examples=100, deadline=None)
def test_a_point_on_a_spoke_is_inside_when_it_stops_short_of_the_outline(
    e: Ellipse, t: float, reach: float
) -> None:
    u, v = reach * e.semi_axes[0] * math.cos(t), reach * e.semi_axes[1] * math.sin(t)
    x = e.center[0] + math.cos(e.angle) * u - math.sin(e.angle) * v
    y = e.center[1] + math.sin(e.angle) * u + math.cos(e.angle) * v
    level = Ellipse.level_set(e.parameters(), torch.tensor([[x, y]], dtype=torch.float64))
    assert float(level) == pytest.approx(reach**2 - 1, abs=1e-9)


@given(ellipses)
@settings(max_examples=50, deadline=None)
def test_the_bounds_hold_the_outline_and_it_touches_them(e: Ellipse) -> None:
    row = e.parameters()
    outline = Ellipse.outline(row, 3600)
    box = torch.cat([outline.amin(0), outline.amax(0)])
    torch.testing.assert_close(box, Ellipse.bounds(row), rtol=0, atol=1e-5)


def test_the_curve_has_the_derivatives_it_says() -> None:
    row = Ellipse((0.1, -0.2), (0.3, 0.5), 0.7).parameters()
    curve, count = Ellipse.curve(row, 64), 64
    frequency = 1j * torch.fft.fftfreq(count, 1 / count, dtype=torch.float64)[:, None]

    def spectral_derivative(values: torch.Tensor) -> torch.Tensor:
        return torch.fft.ifft(frequency * torch.fft.fft(values, dim=0), dim=0).real

    torch.testing.assert_close(curve.first, spectral_derivative(curve.point), rtol=0, atol=1e-13)
    torch.testing.assert_close(curve.second, spectral_derivative(curve.first), rtol=0, atol=1e-12)


def test_a_circle_is_an_ellipse_with_equal_semi_axes() -> None:
    assert circle((0.1, 0.2), 0.3) == Ellipse((0.1, 0.2), (0.3, 0.3))


@pytest.mark.parametrize("semi_axes", [(0.0, 0.1), (0.1, -0.2)])
def test_semi_axes_must_be_positive(semi_axes: tuple[float, float]) -> None:
    with pytest.raises(InputError, match=r"^Ellipse: semi_axes must be positive"):
        Ellipse((0, 0), semi_axes)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_numbers_must_be_finite(bad: float) -> None:
    for arguments in [
        ((bad, 0.0), (0.1, 0.1), 0.0),
        ((0.0, 0.0), (bad, 0.1), 0.0),
        ((0.0, 0.0), (0.1, 0.1), bad),
    ]:
        with pytest.raises(InputError, match=r"^Ellipse: 1 of 5 "):
            Ellipse(*arguments)
