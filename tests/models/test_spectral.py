import numpy as np
import pytest
import torch
from torch import Tensor

from eitlens.models import wavelets
from eitlens.models.fourier import Analysis, SpectralConv, Synthesis, all_modes, low_modes

CPU = torch.device("cpu")


def by_fft(layer: SpectralConv, x: Tensor) -> Tensor:
    """The textbook's spectral convolution: FFT, two corners of the spectrum times weights, inverse FFT."""
    n = x.shape[-1]
    kept = min(layer.real.shape[1], n // 2 + 1)
    weight = torch.complex(layer.real, layer.imaginary)[:, :kept, :kept]
    spectrum = torch.fft.rfft2(x, norm="ortho")
    out = torch.zeros_like(spectrum)
    for block, rows in enumerate((slice(None, kept), slice(-kept, None))):
        corner = spectrum[:, :, rows, :kept]
        out[:, :, rows, :kept] = torch.einsum("birc,rcio->borc", corner, weight[block])
    return torch.fft.irfft2(out, s=(n, n), norm="ortho")


@pytest.mark.parametrize("n", [1, 2, 3, 4, 8, 15, 16, 33, 64, 101])
def test_spectral_convolution_is_the_one_by_fft(n: int) -> None:
    torch.manual_seed(n)
    layer = SpectralConv(3, 6, std=1.0)
    x = torch.randn(2, 3, n, n)
    with torch.no_grad():
        torch.testing.assert_close(layer(x, low_modes(n, 6, CPU)), by_fft(layer, x), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("n", [2, 5, 8, 33])
def test_whole_spectrum_is_that_of_the_fft_and_returns_the_image(n: int) -> None:
    x = torch.randn(1, 2, n, n)
    modes = all_modes(n, CPU)
    real, imaginary = Analysis()(x, modes)
    torch.testing.assert_close(
        torch.complex(real, imaginary), torch.fft.rfft2(x, norm="ortho"), rtol=1e-4, atol=1e-4
    )
    torch.testing.assert_close(Synthesis()(real, imaginary, modes), x, rtol=1e-4, atol=1e-4)


def test_transforms_stay_in_float32_under_autocast() -> None:
    layer, x = SpectralConv(2, 3, std=1.0), torch.randn(1, 2, 33, 33)
    modes = low_modes(33, 3, CPU)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(layer(x, modes), layer(x, modes).float())
        torch.testing.assert_close(layer(x, modes), by_fft(layer, x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_averages_and_details_are_an_orthogonal_basis(k: int) -> None:
    basis = np.vstack([wavelets.averages(k), wavelets.details(k)])
    np.testing.assert_allclose(basis @ basis.T, np.eye(2 * k), atol=1e-12)


def test_first_multiwavelet_is_haars() -> None:
    np.testing.assert_allclose(wavelets.averages(1), [[2**-0.5, 2**-0.5]])
    np.testing.assert_allclose(np.abs(wavelets.details(1)), [[2**-0.5, 2**-0.5]])


def test_details_of_polynomials_vanish() -> None:
    """A polynomial of degree below k is its own average on every scale: nothing is left for the details."""
    k = 4
    nodes, weights = np.polynomial.legendre.leggauss(8)
    x, w = (nodes + 1) / 2, weights / 2
    fine = [(wavelets.legendre(x, k) * w) @ ((x + half) / 2) ** 3 for half in (0, 1)]
    np.testing.assert_allclose(wavelets.details(k) @ np.concatenate(fine), 0, atol=1e-12)
