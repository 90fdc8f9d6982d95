"""From readings of electrodes to the data of cosine currents: any body and pattern, gaps, no reference."""

import math
import re
from dataclasses import replace

import pytest
import torch

import eitlens as eit
from eitlens.errors import InputError
from eitlens.forward.currents import CurrentsConfig
from eitlens.imaging import METHODS, Options
from eitlens.measure import estimate

SIGMA, HEIGHT = 0.4, 0.05
COSINES = CurrentsConfig("cosine", 3)
BODIES = {
    "disk": eit.Disk(64, scale=0.15),
    "ellipse": eit.bodies.ellipse(0.2, 0.13),
    "thorax": eit.bodies.thorax(0.3),
    "rectangle": eit.bodies.rectangle(0.4, 0.3),
}
WORDS = {"adjacent": ("adjacent", False), "opposite": ("adjacent", False), "trigonometric": ("mean", True)}
PLACES = [(0.4, 0.1), (-0.3, -0.3), (0.0, 0.3)]


def measured(
    body: eit.Domain,
    pattern: eit.Pattern,
    phantom: eit.Phantom,
    noise: float = 0.0,
    impedance: float = 1e-6,
) -> eit.Measurement:
    """Readings with noise of a part of the root mean square of the empty body's."""
    electrodes = eit.Electrodes.even(body, pattern.electrodes, 0.4, impedance)
    volts = eit.simulate_readings(electrodes, pattern, [phantom, eit.Phantom([], outside=SIGMA)], HEIGHT)
    size = noise * volts[1].square().mean().sqrt()
    volts = volts + size * torch.randn(volts.shape, generator=torch.manual_seed(0), dtype=torch.float64)
    return eit.Measurement.of_electrodes(electrodes, pattern, volts[:1], volts[1:], height=HEIGHT)


def rod(place: tuple[float, float], sigma: float = SIGMA / 20) -> eit.Phantom:
    return eit.Phantom([eit.circle(place, 0.2)], sigma, SIGMA)


def off(measurement: eit.Measurement, place: tuple[float, float]) -> float:
    """How far the largest index of direct sampling is from a place."""
    found = METHODS["dsm"](measurement, Options(n=64))
    node = found.domain.nodes().flatten(0, 1)[found.image.argmax()]
    return math.dist(node.tolist(), place)


def prepared(measurement: eit.Measurement, n: int = 64):
    return measurement.prepare(COSINES, 1, measurement.domain.at(n))


@pytest.mark.parametrize("pattern", WORDS)
@pytest.mark.parametrize("body", BODIES)
def test_an_object_is_seen_where_it_is(body, pattern):
    """Sixteen electrodes: 208 readings of adjacent drive, all of the others; insulating and conducting rods."""
    readings, driven = WORDS[pattern]
    protocol = eit.Pattern.named(pattern, 16, 1e-3, readings, driven)
    for k, place in enumerate(PLACES):
        noisy = measured(BODIES[body], protocol, rod(place, SIGMA * (0.05, 8.0, 0.05)[k]), noise=5e-4)
        assert off(noisy, place) < 0.3, (place, off(noisy, place))


def test_the_data_are_those_of_continuous_cosine_currents():
    disk, phantom = BODIES["disk"], eit.Phantom([eit.circle((0.4, 0.1), 0.2)], 1.5, 1.0)
    expected = eit.BoundaryIntegralSolver(disk).difference(phantom, COSINES.build(disk))
    errors = {}
    for count in (16, 32):
        pattern = eit.Pattern.named("trigonometric", count, 1e-3, "mean", driven=True)
        tank = eit.Electrodes.even(disk, count, 0.4)
        volts = eit.simulate_readings(tank, pattern, [phantom, eit.Phantom([])])
        found = prepared(eit.Measurement.of_electrodes(tank, pattern, volts[:1], volts[1:]))
        errors[count] = float((found.difference - expected).norm() / expected.norm())
    assert errors[16] < 0.08
    assert errors[32] < 0.035


def test_the_unit_of_the_tank_does_not_matter():
    """Twice as large, twice the current, half the conductivity: the same data."""
    pattern, found = eit.Pattern.named("adjacent", 16, 1e-3), []
    for factor in (1.0, 2.0):
        tank = eit.Electrodes.even(eit.Disk(64, scale=0.1 * factor), 16, 0.4, 1e-6)
        drive = eit.Pattern.named("adjacent", 16, 1e-3 * factor)
        bodies = [eit.Phantom([eit.circle((0.4, 0.1), 0.2)], 1.0 / factor, 0.4 / factor)]
        volts = eit.simulate_readings(tank, drive, [*bodies, eit.Phantom([], outside=0.4 / factor)])
        found.append(prepared(eit.Measurement.of_electrodes(tank, drive, volts[:1], volts[1:])).difference)
    assert pattern.count == 208
    assert float((found[0] - found[1]).norm() / found[0].norm()) < 1e-4  # the contacts differ a little


def test_combinations_of_the_driven_currents():
    """Any independent combinations of the stimulations tell the same."""
    full = eit.Pattern.named("trigonometric", 16, 1e-3, "mean", driven=True)
    mixing = torch.linalg.qr(torch.randn(15, 15, generator=torch.manual_seed(1), dtype=torch.float64))[0]
    mixed = eit.Pattern(mixing @ full.stimulation, full.reading, full.mask)
    data = [prepared(measured(BODIES["ellipse"], pattern, rod((0.4, 0.1)))) for pattern in (full, mixed)]
    assert float((data[0].difference - data[1].difference).norm() / data[0].difference.norm()) < 1e-3


def test_gaps_in_the_readings():
    """A tenth of the readings missing at random, another tenth in the frame alone, one electrode gone."""
    pattern, place = eit.Pattern.named("adjacent", 16, 1e-3), (0.4, 0.1)
    whole = measured(BODIES["ellipse"], pattern, rod(place), noise=5e-4)
    lost = torch.rand(2, 208, generator=torch.manual_seed(2)) < 0.1
    patchy = replace(whole, voltages=whole.voltages.masked_fill(lost[:1], torch.nan))
    patchy = replace(patchy, reference=whole.reference.masked_fill(lost[1:], torch.nan))
    assert int((~patchy.present).sum()) > 25
    assert off(patchy, place) < 0.15
    gone = measured(BODIES["ellipse"], pattern.without(9), rod(place), noise=5e-4)
    assert off(gone, place) < 0.15
    assert "gap" in [flag.kind for flag in prepared(gone).doubts]


@pytest.mark.parametrize("known", [SIGMA, None])
def test_without_a_reference(known):
    """The empty tank is computed, with contacts that are found too; the image says so."""
    pattern, place = eit.Pattern.named("adjacent", 16, 1e-3), (0.5, 0.2)
    tank = measured(BODIES["disk"], pattern, rod(place), noise=5e-4, impedance=1e-3)
    absolute = replace(tank, reference=None, conductivity=known)
    assert off(absolute, place) < 0.25
    (flag,) = prepared(absolute).doubts
    assert flag.kind == "reference"
    assert float(re.search(r"([0-9.]+) S/m", flag.text)[1]) == pytest.approx(SIGMA, rel=0.05)


@pytest.mark.parametrize("noise", [2e-3, 1e-2])
def test_the_noise_is_found(noise):
    """As the part of the change that no change of conductivity explains."""
    pattern = eit.Pattern.named("adjacent", 16, 1e-3)
    tank = measured(BODIES["disk"], pattern, rod((0.4, 0.1)), noise)
    size = noise * math.sqrt(2) * float(tank.reference.square().mean().sqrt())
    expected = size / float(tank.difference.square().mean().sqrt())
    assert prepared(tank).noise == pytest.approx(expected, rel=0.2)


def test_nothing_but_noise_is_doubted_and_so_is_another_pattern():
    pattern = eit.Pattern.named("adjacent", 16, 1e-3)
    tank = measured(BODIES["disk"], pattern, rod((0.4, 0.1)), 1e-4)
    assert prepared(tank).doubts == ()
    still = measured(BODIES["disk"], pattern, eit.Phantom([], outside=SIGMA), 1e-3)
    assert [flag.kind for flag in prepared(still).doubts] == ["noise"]
    order = torch.randperm(208, generator=torch.manual_seed(3))
    shuffled = replace(tank, voltages=tank.voltages[:, order], reference=tank.reference[:, order])
    assert "noise" in [flag.kind for flag in prepared(shuffled).doubts]


def test_a_reference_of_the_other_sign_is_doubted():
    pattern = eit.Pattern.named("adjacent", 16, 1e-3)
    tank = measured(BODIES["disk"], pattern, rod((0.4, 0.1)))
    turned = replace(tank, voltages=-tank.voltages, reference=-tank.reference)
    assert [flag.kind for flag in prepared(turned).doubts] == ["contrast"]


def test_one_pair_of_electrodes_is_too_little():
    pattern = eit.Pattern.named("adjacent", 16, 1e-3)
    one = eit.Pattern(pattern.stimulation[:1], pattern.reading, pattern.mask[:1])
    tank = measured(BODIES["disk"], one, rod((0.4, 0.1)))
    with pytest.raises(InputError, match="tell too little of current"):
        tank.prepare(COSINES, 3, tank.domain)


def test_what_depends_on_the_tank_alone_is_computed_once(monkeypatch):
    pattern = eit.Pattern.named("adjacent", 16, 1e-3)
    tank = measured(BODIES["disk"], pattern, rod((0.4, 0.1)))
    calls, original = [], estimate.readout
    monkeypatch.setattr(estimate, "readout", lambda *given: calls.append(1) or original(*given))
    frames = replace(tank, voltages=tank.voltages.expand(5, -1))
    assert len([*eit.imaging.images(frames, "dsm", Options(n=32))]) == 5
    assert len(calls) == 1
