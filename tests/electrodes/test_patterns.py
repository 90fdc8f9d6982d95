"""Patterns: counts that devices have, masks, rank, reciprocity, other programs' forms, and readings in volts."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import io
from torch import Tensor

import eitlens as eit
from eitlens.domain import Disk
from eitlens.electrodes import CompleteElectrodeSolver, Electrodes, Pattern, simulate_readings
from eitlens.electrodes.patterns import PATTERNS
from eitlens.electrodes.protocols import from_pyeit, read_eidors, to_pyeit, write_eidors
from eitlens.errors import InputError
from eitlens.forward import BoundaryIntegralSolver
from eitlens.phantom import Ellipse, Phantom

TANK = Disk(8, 64, scale=0.1)
ROW = Electrodes.even(TANK, 16, 0.5, 1e-4)
PHANTOM = Phantom([Ellipse((0.3, 0.2), (0.2, 0.4), 0.3)], 1.0, 0.3)
KTC = Path(__file__).parents[2].parent / "shared" / "ktc2023"


def potentials(pattern: Pattern, seed: int = 0) -> Tensor:
    """Those of a symmetric map of the currents, as that of any body is."""
    some = torch.randn(
        pattern.electrodes, 40, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)
    )
    return pattern.stimulation @ (some @ some.T)


@pytest.mark.parametrize(
    ("name", "electrodes", "stimulations", "rank", "readings", "driven"),
    [
        ("adjacent", 16, 16, 15, 208, 256),
        ("opposite", 16, 16, 8, 192, 256),
        ("skip-0", 16, 16, 15, 208, 256),
        ("skip-3", 16, 16, 12, 192, 256),
        ("skip-1", 16, 16, 14, 192, 256),
        ("all-against-1", 16, 15, 15, 182, 240),
        ("trigonometric", 32, 31, 31, None, 992),
    ],
)
def test_counts(
    name: str, electrodes: int, stimulations: int, rank: int, readings: int | None, driven: int
) -> None:
    pattern = Pattern.named(name, electrodes, driven=True)
    assert (len(pattern.stimulation), pattern.count) == (stimulations, driven)
    basis = pattern.basis()
    assert len(basis.stimulations) == rank == int(torch.linalg.matrix_rank(pattern.stimulation))
    torch.testing.assert_close(basis.mixing @ basis.stimulations, pattern.stimulation, rtol=0, atol=1e-12)
    if readings is None:
        with pytest.raises(InputError, match="driven=True"):
            Pattern.named(name, electrodes)
    else:
        assert Pattern.named(name, electrodes).count == readings


def test_pairs_combine_with_whole_factors() -> None:
    mixing = Pattern.named("adjacent", 16).basis().mixing
    assert torch.equal(mixing, mixing.round())
    assert mixing.abs().max() == 1


def test_readings_are_injection_major_differences() -> None:
    pattern = Pattern.named("adjacent", 6, current=2.0)
    u = potentials(pattern)
    expected = [
        u[i, m] - u[i, (m + 1) % 6]
        for i in range(6)
        for m in range(6)
        if not {m, (m + 1) % 6} & {i, (i + 1) % 6}
    ]
    torch.testing.assert_close(pattern.read(u), torch.stack(expected))
    torch.testing.assert_close(pattern.read(torch.stack([u, 2 * u]))[1], 2 * torch.stack(expected))
    table = pattern.spread(pattern.read(u))
    assert torch.equal(table.isnan(), ~pattern.mask)
    assert torch.equal(table[pattern.mask], pattern.read(u))


def test_rotating_readings_begin_at_the_electrode_that_drives() -> None:
    fixed, rotating = (Pattern.named("skip-1", 8, rotating=turn) for turn in (False, True))
    u = potentials(fixed)
    for k, (one, other) in enumerate(
        zip(fixed.spread(fixed.read(u)), rotating.spread(rotating.read(u)), strict=True)
    ):
        torch.testing.assert_close(one.roll(-k), other, equal_nan=True)


def test_against_the_mean() -> None:
    pattern = Pattern.named("trigonometric", 8, readings="mean", driven=True)
    u = potentials(pattern)
    torch.testing.assert_close(pattern.read(u), (u - u.mean(-1, keepdim=True)).flatten())
    assert Pattern.named("adjacent", 8, readings="mean").count == 8 * 6


def test_turned_and_mirrored() -> None:
    """A device with another numbering reads the same from a body whose electrodes are numbered as its own."""
    pattern, map_ = Pattern.named("skip-2", 8), torch.randn(8, 8, dtype=torch.float64)
    for other, order in (
        (pattern.turned(3), (torch.arange(8) + 3) % 8),
        (pattern.mirrored(), -torch.arange(8) % 8),
    ):
        own = map_[order][:, order]
        torch.testing.assert_close(
            other.read(other.stimulation @ map_), pattern.read(pattern.stimulation @ own)
        )
    back = pattern.turned(3).turned(-3).mirrored().mirrored()
    assert torch.equal(back.stimulation, pattern.stimulation)
    assert torch.equal(back.reading, pattern.reading)


def test_electrodes_taken_off_mask_what_uses_them() -> None:
    pattern = Pattern.named("adjacent", 16).without(5)
    assert not bool(pattern.mask[3:5].any())
    assert not bool(pattern.mask[:, 3:5].any())
    assert pattern.count == 156
    kept = Pattern.named("adjacent", 16).mask.clone()
    kept[3:5], kept[:, 3:5] = False, False
    assert torch.equal(pattern.mask, kept)


@pytest.mark.parametrize("name", ["adjacent", "skip-3", "opposite"])
def test_reciprocity(name: str) -> None:
    pattern = Pattern.named(name, 16, current=1e-3, readings=name)
    one, other, factor = pattern.reciprocal()
    read = pattern.read(potentials(pattern))
    assert len(one) >= pattern.count // 2
    torch.testing.assert_close(read[other], factor * read[one])
    adjacent = Pattern.named("adjacent", 16)
    assert len(adjacent.reciprocal().one) == 104
    assert len(Pattern.named("all-against-1", 16).reciprocal().one) < 20


def test_pyeit_there_and_back() -> None:
    ex = np.array([[i, (i + 1) % 8] for i in range(8)])
    rows = [
        [(m + 1) % 8, m, i] for i in range(8) for m in range(8) if not {m, (m + 1) % 8} & {i, (i + 1) % 8}
    ]
    pattern = from_pyeit(ex, np.array(rows), 8)
    own = Pattern.named("adjacent", 8)
    u = potentials(own)
    torch.testing.assert_close(pattern.read(u), -own.read(u))  # v_n - v_m with n = m + 1
    again = to_pyeit(pattern)
    assert np.array_equal(again[0], ex)
    assert np.array_equal(again[1], rows)
    older = np.array(rows)[:, :2].reshape(8, 5, 2)
    torch.testing.assert_close(from_pyeit(ex, older).read(u), pattern.read(u))
    uneven = from_pyeit(ex[:2], [[3, 4, 0], [5, 6, 1], [6, 7, 1]], 8)
    assert uneven.mask.tolist() == [[True, False], [True, True]]
    for bad, words in (
        (([[0, 8]], [[1, 2, 0]], 8), "no electrode 8"),
        (([[0, 1]], [[1, 9, 0]], 8), "no electrode 9"),
        (([[0, 1]], [[1, 2, 4]], 8), "no stimulation 4"),
        (([[0, 1], [1, 2]], [[3, 4, 1], [3, 4, 0]], 8), "in the order of the stimulations"),
        (([0, 1], [[1, 2, 4]], 8), "ex_mat: expected"),
    ):
        with pytest.raises(InputError, match=words):
            from_pyeit(*bad)
    with pytest.raises(InputError, match="pairs of electrodes alone"):
        to_pyeit(Pattern.named("trigonometric", 8, driven=True))


def test_eidors_there_and_back(tmp_path: Path) -> None:
    for pattern in (
        Pattern.named("adjacent", 16, 0.01, rotating=True).without(4),
        Pattern.named("trigonometric", 8, driven=True),
    ):
        file = tmp_path / "stim.mat"
        write_eidors(pattern, file)
        back = read_eidors(file)
        u = potentials(pattern)
        torch.testing.assert_close(back.stimulation, pattern.stimulation)
        assert torch.equal(back.read(u), pattern.read(u))
    part = {"stimulation": "Amp", "stim_pattern": [[0.5], [-0.5], [0], [0]], "meas_pattern": [[0, 0, 1, -1]]}
    io.savemat(tmp_path / "model.mat", {"fmdl": {"stimulation": part, "nodes": [1.0]}})
    one = read_eidors(tmp_path / "model.mat", "fmdl.stimulation")
    assert one.stimulation.tolist() == [[0.5, -0.5, 0, 0]]
    assert one.reading.tolist() == [[[0, 0, 1, -1]]]
    (tmp_path / "none.mat").write_bytes(b"nothing")
    for name, variable, words in (
        ("model", "stim", "no structure 'stim'"),
        ("model", "fmdl.nodes", "expected elements"),
        ("none", "stim", "not a .mat file"),
        ("gone", "stim", "not a .mat file"),
    ):
        with pytest.raises(InputError, match=words):
            read_eidors(tmp_path / f"{name}.mat", variable)


def test_files() -> None:
    pattern = Pattern.named("skip-2", 16, 1e-3, rotating=True).without(7)
    back = Pattern.from_dict(json.loads(json.dumps(pattern.to_dict())))
    for name in ("stimulation", "reading", "mask"):
        assert torch.equal(getattr(back, name), getattr(pattern, name))
    with pytest.raises(InputError, match="expected an object"):
        Pattern.from_dict({"stimulation": [[1, -1]]})


def test_a_pattern_of_ones_own() -> None:
    eit.register(
        "pattern",
        "two-and-two",
        lambda count: (
            torch.eye(count)
            + torch.eye(count).roll(1, 1)
            - torch.eye(count).roll(2, 1)
            - torch.eye(count).roll(3, 1)
        ),
    )
    try:
        assert len(Pattern.named("two-and-two", 16).basis().stimulations) == 14
    finally:
        del PATTERNS["two-and-two"]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Pattern([[1.0, 0.0]], [[1.0, -1.0]]), "row 1 sums to 1: currents must have zero sum"),
        (lambda: Pattern([[1.0, -1.0]], [[1.0, 0.0]]), "a channel is a difference"),
        (lambda: Pattern([[1.0, -1.0]], [[1.0, -1.0, 0.0]]), "do not go with readings"),
        (lambda: Pattern([[1.0, -1.0]], [[1.0, -1.0]], [[True, False]]), r"mask: expected \(1, 1\)"),
        (lambda: Pattern([[1.0, float("nan")]], [[1.0, -1.0]]), "NaN"),
        (lambda: Pattern([[1.0, -1.0], [0.0, 0.0]], [[1.0, -1.0]]), "stimulation 2 drives no current"),
        (lambda: Pattern.named("sideways", 16), "pattern must be one of adjacent"),
        (lambda: Pattern.named("skip-15", 16), "can skip 0 to 14"),
        (lambda: Pattern.named("all-against-17", 16), "numbered 1 to 16"),
        (lambda: Pattern.named("adjacent", 2), "expected 3 to"),
        (lambda: Pattern.named("adjacent", 4).turned(1).renumbered([0, 0, 1, 2]), "each of 0 … 3 once"),
        (
            lambda: Pattern.named("adjacent", 4).read(torch.zeros(4, 5, dtype=torch.float64)),
            "potentials: expected",
        ),
        (lambda: Pattern.named("adjacent", 4).without(5), "no electrode 5"),
        (
            lambda: simulate_readings(ROW, Pattern.named("adjacent", 8), PHANTOM),
            "reads 8 electrodes, but the body has 16",
        ),
        (
            lambda: simulate_readings(ROW, Pattern.named("adjacent", 16), PHANTOM, height=0),
            "height must be positive",
        ),
    ],
)
def test_what_cannot_be(make, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=words):
        make()


def test_readings_of_all_currents_by_those_of_their_basis() -> None:
    pattern = Pattern.named("adjacent", 16, 1e-3)
    solver = CompleteElectrodeSolver(BoundaryIntegralSolver(TANK), ROW)
    expected = pattern.read(solver.voltages(PHANTOM, pattern.stimulation / 0.05))
    found = simulate_readings(ROW, pattern, PHANTOM, height=0.05)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=0)
    both = simulate_readings(ROW, pattern, [PHANTOM, Phantom([], outside=0.3)], 0.05, solver)
    torch.testing.assert_close(both[0], found)
    one, other, factor = pattern.reciprocal()
    torch.testing.assert_close(found[other], factor * found[one], rtol=1e-9, atol=0)


def test_units() -> None:
    """Volts are those of the same tank in centimetres, of twice the current, of twice the conductivity and contact."""
    pattern = Pattern.named("opposite", 16, 1e-3, driven=True)
    found = simulate_readings(ROW, pattern, PHANTOM, 0.05)
    small = Electrodes.even(Disk(8, 64, scale=0.01), 16, 0.5, 1e-5)  # z / scale is the same
    torch.testing.assert_close(simulate_readings(small, pattern, PHANTOM, 0.05), found)
    torch.testing.assert_close(
        simulate_readings(ROW, Pattern.named("opposite", 16, 2e-3, driven=True), PHANTOM, 0.1), found
    )
    bad = Electrodes.even(TANK, 16, 0.5, 2e-4)
    half = Phantom(PHANTOM.shapes, 0.5, 0.15)
    torch.testing.assert_close(simulate_readings(bad, pattern, half, 0.05), 2 * found)


def test_the_resistance_of_two_plates() -> None:
    """A contact of z Ω m² on an electrode of w metres and a height h is a resistor of z / (w h)."""
    row = Electrodes.even(TANK, 4, 0.5, 10.0)
    pattern = Pattern.named("skip-1", 4, 1e-3, readings="skip-1", driven=True)
    volts = pattern.spread(simulate_readings(row, pattern, Phantom([], outside=1e3), 0.05))
    width = float(row.widths[0]) * 0.1
    assert float(volts[0, 0]) == pytest.approx(2 * 1e-3 * 10.0 / (width * 0.05), rel=1e-4)


@pytest.mark.skipif(not KTC.exists(), reason="the tank's measurements are not here")
def test_the_tank_of_2023() -> None:
    reference = io.loadmat(next(KTC.rglob("ref.mat")))
    pattern = Pattern(reference["Injref"].T, reference["Mpat"].T)
    basis = pattern.basis()
    assert pattern.mask.shape == (76, 31)
    assert len(basis.stimulations) == 15
    torch.testing.assert_close(basis.mixing @ basis.stimulations, pattern.stimulation, rtol=0, atol=1e-9)
