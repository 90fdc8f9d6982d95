import numpy as np
import pytest
import torch
from torch import Tensor

from eitlens.models import wavelets
from eitlens.models.fourier import Analysis, SpectralConv, Synthesis, all_modes, low_modes
from eitlens.models.mwo import Local, MultiwaveletLayer, MWOConfig, cells, nodes

CPU = torch.device("cpu")


def image(nodes: Tensor) -> Tensor:
    return nodes.permute(0, 3, 1, 2)


def by_fft(layer: SpectralConv, x: Tensor) -> Tensor:
    """The textbook's spectral convolution: FFT, two corners of the spectrum times weights, inverse FFT."""
    n = x.shape[1]
    kept = min(layer.real.shape[1], n // 2 + 1)
    weight = torch.complex(layer.real, layer.imaginary)[:, :kept, :kept]
    spectrum = torch.fft.rfft2(image(x), norm="ortho")
    out = torch.zeros_like(spectrum)
    for block, rows in enumerate((slice(None, kept), slice(-kept, None))):
        corner = spectrum[:, :, rows, :kept]
        out[:, :, rows, :kept] = torch.einsum("birc,rcio->borc", corner, weight[block])
    return torch.fft.irfft2(out, s=(n, n), norm="ortho").permute(0, 2, 3, 1)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 8, 15, 16, 33, 64, 101])
def test_spectral_convolution_is_the_one_by_fft(n: int) -> None:
    torch.manual_seed(n)
    layer = SpectralConv(3, 6, std=1.0)
    x = torch.randn(2, n, n, 3)
    with torch.no_grad():
        torch.testing.assert_close(layer(x, low_modes(n, 6, CPU)), by_fft(layer, x), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("n", [2, 5, 8, 33])
def test_whole_spectrum_is_that_of_the_fft_and_returns_the_image(n: int) -> None:
    x = torch.randn(1, n, n, 2)
    modes = all_modes(n, CPU)
    spectrum = Analysis()(x, modes, torch.float32)
    real, imaginary = (image(part[:, :n, : n // 2 + 1]) for part in spectrum.unbind(2))
    torch.testing.assert_close(
        torch.complex(real, imaginary), torch.fft.rfft2(image(x), norm="ortho"), rtol=1e-4, atol=1e-4
    )
    torch.testing.assert_close(Synthesis()(spectrum, modes, torch.float32), x, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("n", [2, 5, 33])
def test_modes_beyond_the_spectrum_change_no_image(n: int) -> None:
    modes = all_modes(n, CPU)
    spectrum = Analysis()(torch.randn(1, n, n, 2), modes, torch.float32)
    assert spectrum.shape[1] % 4 == spectrum.shape[3] % 4 == 0
    beyond = torch.ones_like(spectrum)
    beyond[:, :n, :, : n // 2 + 1] = 0
    assert not Synthesis()(beyond, modes, torch.float32).any()


def test_transforms_take_the_precision_of_their_input() -> None:
    """bfloat16 in, bfloat16 out, with an error of its own size: sums are taken in float32."""
    torch.manual_seed(0)
    layer, x = SpectralConv(2, 3, std=1.0), torch.randn(1, 33, 33, 2)
    modes = low_modes(33, 3, CPU)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        assert layer(x, modes).dtype == torch.float32
        torch.testing.assert_close(layer(x, modes), by_fft(layer, x), rtol=1e-4, atol=1e-4)
        rounded = layer(x.bfloat16(), modes)
    assert rounded.dtype == torch.bfloat16
    exact = by_fft(layer, x.bfloat16().float())
    assert (rounded - exact).norm() < 0.01 * exact.norm()


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


def test_filters_are_the_stencils_as_one_matrix() -> None:
    layer, x = MultiwaveletLayer(MWOConfig()), torch.randn(2, 8, 8, 64)
    torch.testing.assert_close(nodes(cells(x, 4)), x)
    both = cells(x, 4) @ layer.filters
    for part, one in zip(both.chunk(2, -1), (wavelets.details(4), wavelets.averages(4)), strict=True):
        stencil = torch.tensor(wavelets.stencils(one), dtype=torch.float32).repeat(4, 1, 1, 1)
        by_convolution = torch.nn.functional.conv2d(image(x), stencil, stride=2, groups=4)
        torch.testing.assert_close(image(part.flatten(3)), by_convolution, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", [1, 2, 8])
def test_convolution_of_a_coarse_grid_is_a_product(size: int) -> None:
    torch.manual_seed(size)
    local, x = Local(4), torch.randn(2, size, size, 4)
    by_library = local.mix(torch.relu(local.conv(image(x)).permute(0, 2, 3, 1)))
    torch.testing.assert_close(local(x), by_library, rtol=1e-4, atol=1e-5)
