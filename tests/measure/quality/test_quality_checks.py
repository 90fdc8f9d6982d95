"""The checks of an inspection one by one: identities, and faults of known size."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

import eitlens as eit
from eitlens.errors import InputError
from eitlens.measure import files
from eitlens.measure.quality import inspect
from eitlens.measure.quality.drift import drift
from eitlens.measure.quality.linearity import linearity, nonlinear
from eitlens.measure.quality.noise import noise, noisy
from eitlens.measure.quality.pattern import Words, spelled
from eitlens.measure.quality.reciprocity import irreciprocal, pairs, reciprocity
from eitlens.measure.quality.saturation import saturated
from eitlens.measure.readings import ElectrodeMeasurement

KTC = Path(__file__).parents[3] / "../shared/ktc2023/training"
TANK = eit.Electrodes.even(eit.Disk(32, scale=0.1), 16, impedance=1e-3)
ADJACENT = eit.Pattern.named("adjacent", 16, current=1e-3)
OBJECT = eit.Phantom([eit.Ellipse((0.3, 0.2), (0.2, 0.1))], inside=0.05, outside=0.3)


def _measured(pattern: eit.Pattern = ADJACENT, noise: float = 0.0) -> ElectrodeMeasurement:
    frames = eit.simulate_readings(TANK, pattern, [OBJECT, eit.Phantom([], outside=0.3)])
    size = noise * frames[1].square().mean().sqrt()
    generator = torch.Generator().manual_seed(0)
    shake = size * torch.randn((12, frames.shape[1]), generator=generator, dtype=torch.float64)
    return ElectrodeMeasurement(TANK, pattern, frames[:1] + shake[:4], frames[1:] + shake[4:])


def _redundant() -> eit.Pattern:
    """Adjacent, skip 1 and skip 3 together: 48 stimulations of rank 15."""
    rows = [eit.Pattern.named(name, 16, driven=True).stimulation for name in ("adjacent", "skip-1", "skip-3")]
    return eit.Pattern(torch.cat(rows), eit.Pattern.named("adjacent", 16, driven=True).reading)


def test_sound_readings_are_reciprocal_and_linear() -> None:
    assert len(pairs(_measured())) == 104
    assert reciprocity(_measured()) < 1e-9
    assert linearity(_measured()) is None
    assert linearity(_measured(_redundant())) < 1e-9
    assert nonlinear(_measured(_redundant(), 1e-3)) == []


def test_readings_that_are_not_reciprocal_are_found() -> None:
    data = _measured()
    factor = torch.where(torch.arange(208) < 104, 1.0, 1.2)
    wrong = replace(data, reference=data.reference * factor)
    assert reciprocity(wrong) > 0.05
    assert [finding.kind for finding in irreciprocal(wrong, None)] == ["reciprocity"]
    assert irreciprocal(wrong, 0.1) == []


def test_an_electrode_that_is_unreliable_while_it_drives() -> None:
    pattern = _redundant()
    data = _measured(pattern, 1e-3)
    bad = (pattern.stimulation[:, 6] != 0)[:, None] & (pattern.channels[..., 6] != 0)
    factor = 1 + 0.1 * torch.sin(torch.arange(bad.sum(), dtype=torch.float64))
    scale = torch.ones(bad.shape, dtype=torch.float64).masked_scatter(bad, factor)[pattern.mask]
    (found,) = nonlinear(replace(data, reference=data.reference * scale, voltages=data.voltages * scale))
    assert (found.kind, found.electrodes) == ("unreliable electrode", (7,))
    assert found.fix is not None
    fixed = found.fix(data)
    assert torch.equal(fixed.present, ~bad[pattern.mask])
    assert fixed.notes


@pytest.mark.parametrize("size", [-0.1, -0.03, 0.0, 0.05])
@pytest.mark.parametrize("name", ["adjacent", "trigonometric"])
def test_drift_is_told_from_an_object(size: float, name: str) -> None:
    data = _measured(eit.Pattern.named(name, 16, driven=name != "adjacent"), 1e-4)
    found = drift(replace(data, voltages=data.voltages + size * data.baseline))
    assert found is not None
    assert torch.allclose(found.factors, torch.tensor(size).double(), atol=2e-3)


def test_drift_needs_a_reference() -> None:
    assert drift(replace(_measured(), reference=None)) is None
    data = _measured()
    assert drift(replace(data, reference=torch.zeros_like(data.reference))) is None
    same = replace(data, voltages=data.baseline[None])
    assert drift(same).factors.tolist() == [0.0]


def test_noise_is_measured_by_repeated_references() -> None:
    assert noise(_measured(noise=0.02)) == pytest.approx(0.02, rel=0.1)
    assert noisy(_measured(noise=0.002)) == []
    assert noise(replace(_measured(), reference=None)) is None


def test_saturated_readings_are_left_out() -> None:
    data = _measured(noise=1e-3)
    limit = float(data.voltages.abs().max()) / 2

    def clipped(values: Tensor) -> Tensor:
        return values.clamp(-limit, limit)

    wrong = replace(data, voltages=clipped(data.voltages), reference=clipped(data.reference))
    (found,) = saturated(wrong)
    assert found.kind == "saturation"
    assert float(found.fix(wrong).voltages.nan_to_num().abs().max()) < limit
    assert saturated(data) == []


@pytest.mark.parametrize(
    "words",
    [
        Words("adjacent", "adjacent", False, False),
        Words("skip-3", "adjacent", True, True),
        Words("all-against-1", "mean", True, False),
        Words("trigonometric", "adjacent", True, False),
    ],
)
def test_a_pattern_is_spelled(words: Words) -> None:
    pattern = words.pattern(16)
    assert pattern is not None
    assert spelled(eit.Pattern(0.005 * pattern.stimulation, pattern.reading, pattern.mask)) == words


def test_readings_listed_by_channels_are_put_in_order() -> None:
    pattern = eit.Pattern.named("skip-2", 16, readings="adjacent", driven=True)
    data = _measured(pattern, 1e-4)
    index = torch.arange(256).reshape(16, 16).T.flatten()
    wrong = replace(data, voltages=data.voltages[:, index], reference=data.reference[:, index])
    report = inspect(wrong)
    assert [finding.kind for finding in report.findings] == ["order of readings"]
    assert torch.equal(report.applied().voltages, data.voltages)


def test_some_kinds_alone_are_corrected() -> None:
    data = _measured(noise=1e-4)
    wrong = replace(data, voltages=-1.05 * data.voltages, reference=-data.reference)
    report = inspect(wrong)
    assert [finding.kind for finding in report.findings] == ["polarity", "drift"]
    turned = report.applied("polarity")
    assert torch.equal(turned.reference, data.reference)
    assert len(turned.notes) == 1
    with pytest.raises(InputError, match="polarity, drift"):
        report.applied("gain")
    assert report.to_dict()["tank"]["conductivity"] == pytest.approx(0.3, rel=1e-2)


def test_what_cannot_be_compared_is_said() -> None:
    data = _measured()
    differences = replace(data, voltages=data.difference, reference=torch.zeros_like(data.reference))
    report = inspect(differences)
    assert report.findings == ()
    assert "differences" in report.remarks[0]
    assert report.fit is None
    with pytest.raises(InputError, match="electrodes"):
        inspect(eit.Measurement.of_difference(torch.zeros(3, 800, dtype=torch.float64)))


@pytest.mark.skipif(not KTC.exists(), reason="the data of KTC2023 are not here")
def test_ktc2023() -> None:
    """Electrode 31 from linearity alone; the drift of the targets as found with their truths."""
    data = files.read(KTC)
    assert isinstance(data, ElectrodeMeasurement)
    (found,) = nonlinear(data)
    assert found.electrodes == (31,)
    known = drift(data)
    assert known is not None
    low = torch.tensor([-0.010, 0.0, -0.030, -0.10], dtype=torch.float64)
    high = torch.tensor([-0.010, 0.0, -0.023, -0.078], dtype=torch.float64)
    assert bool(((known.factors > low - 0.01) & (known.factors < high + 0.01)).all())
