"""The D-bar method: t against closed forms and an independent equation, σ from its own t, images from electrodes."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp
from scipy.sparse.linalg import LinearOperator, gmres
from scipy.special import expi

import eitlens as eit
from eitlens.classical.d_bar import scattering_transform
from eitlens.classical.d_bar.equation import grid, solve
from eitlens.errors import InputError
from eitlens.imaging import METHODS, Options

CPU = torch.device("cpu")
CONTRAST, REACH, TOP = 1.0, 0.8, 16


def bump(r):
    """A smooth radial σ, 1 beyond the radius 0.8."""
    return 1 + CONTRAST * np.where(r < REACH, (1 - np.minimum(r / REACH, 1) ** 2) ** 4, 0)


def diagonal(values):
    """Λ_σ - Λ_1 of a radial σ from λ_n - n, n = 1 … N."""
    row = torch.as_tensor(values, dtype=torch.complex128)
    return torch.diag(torch.cat([row.flip(0), row.new_zeros(1), row]))


@pytest.fixture(scope="module")
def smooth():
    """Λ_σ - Λ_1 of the bump: with w = rσu'/u, r w' = n²σ - w²/σ, and λ_n = w(1)."""

    def excess(n):
        def slope(r, d):
            return (n * n * bump(r) - (d + n) ** 2 / bump(r)) / r

        return solve_ivp(slope, (1e-4, 1), [n * bump(0) - n], rtol=1e-10, atol=1e-12, method="LSODA").y[0, -1]

    return diagonal([excess(n) for n in range(1, TOP + 1)])


def disk_excess(a, rho, top=TOP):
    n = torch.arange(1, top + 1, dtype=torch.float64)
    mu = (a - 1) / (a + 1) * rho ** (2 * n)
    return n * (1 + mu) / (1 - mu) - n


def test_t_exp_of_concentric_disks_is_its_series():
    a, rho = 4.0, 0.6
    for k in (0.3, 1.0, 2.5 + 1.5j, 5.0j):
        t = scattering_transform(
            diagonal(disk_excess(a, rho)), torch.tensor([k], dtype=torch.complex128), "exp"
        )
        excess = disk_excess(a, rho, 40).tolist()
        terms = [(-1) ** n * abs(k) ** (2 * n) * excess[n - 1] / math.factorial(n) ** 2 for n in range(1, 41)]
        # What the modes beyond the sixteenth add at |k| = 5 is below 1e-8.
        assert abs(complex(t[0]) - 2 * math.pi * sum(terms)) < 1e-8


def test_t_is_t_exp_to_first_order():
    k = torch.tensor([1.0, 2.0j, 2.0 + 1j], dtype=torch.complex128)
    gaps = []
    for a in (1.1, 1.01):
        change = diagonal(disk_excess(a, 0.6))
        exact, first = scattering_transform(change, k), scattering_transform(change, k, "exp")
        gaps.append(float(((exact - first).abs() / first.abs()).max()))
    assert gaps[1] < 0.12 * gaps[0] < 0.02


def potential(r, step=1e-4):
    """Δ√σ / √σ of the bump."""
    root = lambda x: np.sqrt(bump(np.abs(x)))  # noqa: E731
    up, here, down = root(r + step), root(r), root(r - step)
    return ((up - 2 * here + down) / step**2 + (up - down) / (2 * step * r)) / here


def by_schroedinger(k, count):
    """Solve the Lippmann-Schwinger equation μ = 1 - g_k * (q μ) in the plane, for t = ∫ e^{i(kz + k̄z̄)} q μ."""
    side = 2.05 * REACH
    h = side / count
    line = (np.arange(count) + 0.5) * h - side / 2
    z = line[:, None] + 1j * line
    wide = (np.arange(2 * count) - count) * h
    w = wide[:, None] + 1j * wide
    w[count, count] = 1
    green = -np.exp(-1j * k * w) * expi(1j * k * w).real / (2 * np.pi)
    mean_log = np.log(h / 2) + np.log(2) / 2 + np.pi / 4 - 1.5  # of log|w| over a cell around 0
    green[count, count] = -(np.euler_gamma + np.log(abs(k)) + mean_log) / (2 * np.pi)
    symbol, q = np.fft.fft2(np.fft.ifftshift(green)) * h * h, potential(np.abs(z))

    def apply(vector):
        field = np.zeros((2 * count, 2 * count), complex)
        field[:count, :count] = q * vector.reshape(count, count)
        return vector + np.fft.ifft2(np.fft.fft2(field) * symbol)[:count, :count].ravel()

    operator = LinearOperator((count**2, count**2), matvec=apply, dtype=complex)
    mu, _ = gmres(operator, np.ones(count**2, complex), rtol=1e-9)
    return (np.exp(2j * (k * z).real) * q * mu.reshape(count, count)).sum() * h * h


def test_t_agrees_with_the_schroedinger_equation(smooth):
    k = (0.5, 2 + 1j, 3.0, 5.0)
    found = scattering_transform(smooth, torch.tensor(k, dtype=torch.complex128)).numpy()
    coarse, fine = (np.array([by_schroedinger(each, n) for each in k]) for n in (48, 96))
    assert np.abs(fine - found).max() < 3e-4
    assert np.abs(fine - found).max() < 0.4 * np.abs(coarse - found).max()  # of second order


def reconstructed(change, radius, count, r):
    points = grid(radius, count, CPU)
    t = scattering_transform(change, points.k)
    return solve(t, points, r.to(torch.complex128)).real.square()


def test_a_radial_conductivity_comes_back_from_its_own_t(smooth):
    r = torch.linspace(0, 0.95, 8, dtype=torch.float64)
    blunt, sharp = (reconstructed(smooth, radius, 64, r) for radius in (3.0, 7.0))
    truth = torch.from_numpy(bump(r.numpy()))
    assert float((sharp - truth).abs().max()) < 0.012
    assert float((blunt - truth).abs().max()) > 5 * float((sharp - truth).abs().max())


def test_the_d_bar_solver_is_of_second_order(smooth):
    r = torch.linspace(0, 0.9, 5, dtype=torch.float64)
    coarse, middle, fine = (reconstructed(smooth, 6.0, count, r) for count in (16, 32, 64))
    steps = [float((a - b).abs().max()) for a, b in ((coarse, middle), (middle, fine))]
    assert steps[1] < 0.33 * steps[0]
    assert steps[1] < 0.01


def test_no_inclusion_no_change():
    k = torch.tensor([1.0, 2.0], dtype=torch.complex128)
    assert not scattering_transform(diagonal([0.0] * 8), k).any()


BODY = eit.Phantom([eit.circle((0.4, 0.1), 0.25), eit.circle((-0.4, 0.2), 0.2)], (3.0, 0.3))


def tank_data(tank, electrodes, name, noise=1e-3):
    row = eit.Electrodes.even(tank, electrodes)
    pattern = eit.Pattern.named(name, electrodes, driven=name == "trigonometric")
    empty, volts = eit.simulate_readings(row, pattern, [eit.Phantom([], outside=2.0), scaled(BODY, 2.0)])
    size = noise * (volts - empty).square().mean().sqrt()
    noisy = volts + size * torch.randn(
        len(volts), dtype=torch.float64, generator=torch.Generator().manual_seed(0)
    )
    return eit.Measurement.of_electrodes(row, pattern, noisy, empty)


def scaled(phantom, by):
    return eit.Phantom(
        phantom.shapes, tuple(by * value for value in phantom.inside), outside=by * phantom.outside
    )


def at(image, x, y):
    n = len(image) - 1
    return float(image[round((x + 1) * n / 2), round((y + 1) * n / 2)])


@pytest.mark.parametrize(("electrodes", "name"), [(32, "trigonometric"), (16, "adjacent")])
def test_both_inclusions_are_seen_from_electrodes(electrodes, name):
    tank = eit.Disk(24, scale=0.1)
    found = eit.dbar(tank_data(tank, electrodes, name), domain=tank)
    assert at(found.image, 0.4, 0.1) > 1.6 * 2  # σ in S/m: 6 is true
    assert at(found.image, -0.4, 0.2) < 0.65 * 2  # 0.6
    assert at(found.image, 0, -0.6) == pytest.approx(2.0, rel=0.1)
    assert float(found.image[0, 0]) == 0


def test_the_boundary_map_is_that_of_the_body_without_its_electrodes():
    data = tank_data(eit.Disk(8, scale=0.1), 32, "trigonometric", noise=1e-3)
    found = data.boundary_map()
    exact = eit.BoundaryIntegralSolver(eit.Disk(32)).modes(BODY, 16)
    assert float((found.change - exact).norm() / exact.norm()) < 2e-3
    assert found.noise == pytest.approx(1e-3, rel=0.15)
    assert found.conductivity == pytest.approx(2.0, rel=1e-6)
    spread = (found.draws - found.change).norm(dim=(1, 2)).mean() / exact.norm()
    assert 3e-4 < float(spread) < 0.03  # the draws are no narrower than its error


def test_more_noise_cuts_off_earlier():
    tank = eit.Disk(8, scale=0.1)
    found = [eit.dbar(tank_data(tank, 16, "trigonometric", noise), domain=tank) for noise in (1e-4, 1e-1)]
    assert found[0].radius > found[1].radius > 0
    assert found[1].noise == pytest.approx(0.1, rel=0.3)


def test_points_and_absent_changes_are_refused():
    square = eit.Square(16)
    with pytest.raises(InputError, match="electrodes"):
        eit.dbar(eit.Measurement.of_difference(torch.ones(1, 64) - 1, None, square))
    data = tank_data(eit.Disk(8, scale=0.1), 16, "trigonometric")
    with pytest.raises(InputError, match="nothing changed"):
        eit.dbar(eit.Measurement.of_electrodes(data.electrodes, data.pattern, data.reference, data.reference))


def test_other_bodies_go_through_their_riemann_map():
    body = eit.bodies.ellipse(0.12, 0.08).at(24)
    found = eit.dbar(tank_data(body, 16, "trigonometric"), domain=body)
    inside = body.inside()
    x, y = body.nodes()[found.image == found.image.max()][0].tolist()
    assert math.hypot(x - 0.4, y - 0.1) < 0.2
    assert float(found.image[inside].min()) > 0


def test_the_method_images_a_measurement_and_refuses_what_it_cannot_use():
    data = tank_data(eit.Disk(8, scale=0.1), 16, "trigonometric")
    found = METHODS["dbar"](data, Options(n=8))
    assert (found.quantity, found.method, found.image.shape) == ("conductivity", "dbar", (9, 9))
    with pytest.raises(InputError, match="leave out --model"):
        METHODS["dbar"](data, Options(model="flagship"))
    with pytest.raises(InputError, match="radius"):
        eit.dbar(data, radius=-1.0)


def test_the_page_says_what_the_result_file_says():
    root = Path(__file__).parents[2]
    kept = json.loads((root / "results" / "d_bar.json").read_text())
    page = (root / "docs" / "d_bar.md").read_text()
    for name, row in kept["simulated"].items():
        setup, noise = name.rsplit(", ", 1)
        assert (
            f"| {setup} | {float(noise):g} | {row['map']:.4f} | {row['radius']:.1f} | {row['sigma']:.3f} |"
            in page
        )
    for error in kept["radial"].values():
        assert f" {error:.3f} " in page
