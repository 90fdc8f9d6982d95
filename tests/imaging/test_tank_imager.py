"""The network for round tanks: any electrodes and patterns, two kinds of objects, and what it refuses or doubts."""

import json
import math

import pytest
import torch
from typer.testing import CliRunner

import eitlens as eit
from eitlens import weights
from eitlens.cli.main import app
from eitlens.errors import InputError
from eitlens.imaging import METHODS, Options, TankImager
from eitlens.measure import files
from eitlens.measure.readings import ElectrodeMeasurement

TANK = eit.Disk(32, scale=0.1)
WATER = eit.Phantom([], outside=0.3)
BODY = eit.Phantom([eit.circle((0.45, 0.3), 0.25), eit.circle((-0.4, -0.2), 0.3)], [6.0, 0.01], outside=0.3)
DEVICES = {
    "16 adjacent": (16, 0.4, eit.Pattern.named("adjacent", 16, current=1e-3)),
    "16 opposite": (16, 0.5, eit.Pattern.named("opposite", 16, current=1e-3, driven=True)),
    "32 skip-3": (32, 0.5, eit.Pattern.named("skip-3", 32, current=1e-3)),
    "32 trigonometric": (
        32,
        0.6,
        eit.Pattern.named("trigonometric", 32, current=1e-3, readings="mean", driven=True),
    ),
    "32 with a gap": (32, 0.5, eit.Pattern.named("adjacent", 32, current=1e-3).without(9, 10, 22)),
}


def measured(name: str, bodies: list[eit.Phantom], **options: float) -> ElectrodeMeasurement:
    """Differences to water, with noise of a thousandth of their size."""
    count, coverage, pattern = DEVICES[name]
    electrodes = eit.Electrodes.even(TANK, count, coverage, impedance=1e-4, first=math.pi / 2)
    volts = eit.simulate_readings(electrodes, pattern, [WATER, *bodies], height=0.05)
    change = (volts[1:] - volts[0]).square().mean().sqrt()
    noise = torch.randn(volts.shape, generator=torch.Generator().manual_seed(0), dtype=volts.dtype)
    volts = volts + 1e-3 * change * noise
    return eit.Measurement.of_electrodes(electrodes, pattern, volts[1:], volts[:1], height=0.05, **options)


@pytest.mark.parametrize("name", DEVICES)
def test_objects_are_seen_where_they_are_and_of_their_kind(name: str) -> None:
    (found,) = TankImager.load().frames(measured(name, [BODY]))
    assert found.phases is not None
    classes, domain = found.phases.classes, found.domain
    for shape, kind in zip(BODY.shapes, (2, 1), strict=True):
        truth = eit.indicator(domain, eit.Phantom([shape])) > 0
        seen = classes == kind
        assert 2 * int((seen & truth).sum()) / int(seen.sum() + truth.sum()) > 0.85
        inside = found.phases.log_sigma[truth]
        assert float(inside.median()) * (1 if kind == 2 else -1) > 1.5
    total = found.phases.probabilities.sum(0)
    assert torch.allclose(total, torch.ones_like(total))
    assert torch.equal(
        found.image.where(domain.inside(), 0.0),
        found.phases.probabilities[2] - found.phases.probabilities[1],
    )
    assert found.misfit is not None
    assert found.misfit < 0.05
    assert [flag.kind for flag in found.warnings] == []


def test_it_is_the_network_of_tanks_that_is_used_for_tanks() -> None:
    data = measured("16 adjacent", [BODY, WATER])
    found = list(eit.imaging.images(data, "network"))
    assert [one.model for one in found] == ["tank", "tank"]
    assert found[1].inside.sum() == 0
    again = METHODS["network"](data, Options(model="tank"))
    assert torch.allclose(again.image, found[0].image, atol=1e-5)


def test_an_image_does_not_depend_on_its_grid() -> None:
    data = measured("16 adjacent", [BODY])
    fine, coarse = (next(TankImager.load().frames(data, n)) for n in (96, 48))
    assert torch.allclose(fine.image[::2, ::2], coarse.image, atol=1e-6)


@pytest.mark.parametrize(
    ("data", "options", "said"),
    [
        (lambda: measured("16 adjacent", [BODY]), {"tau": 0.1}, "--tau"),
        (lambda: measured("16 adjacent", [BODY]), {"steps": 3}, "--steps"),
        (lambda: measured("16 adjacent", [BODY]), {"model": "flagship"}, "."),
        (lambda: eit.Measurement.of_difference(torch.zeros(3, 800)), {"model": "tank"}, "electrodes"),
    ],
)
def test_what_it_cannot_do(data, options, said) -> None:
    with pytest.raises(InputError, match=said):
        METHODS["network"](data(), Options(**options))


def test_a_tank_without_a_reference_is_refused() -> None:
    data = measured("16 adjacent", [BODY])
    absolute = eit.Measurement.of_electrodes(data.electrodes, data.pattern, data.voltages)
    with pytest.raises(InputError, match="--reference"):
        next(TankImager.load().frames(absolute))


def test_a_tank_unlike_those_of_training_is_doubted() -> None:
    electrodes = eit.Electrodes.even(TANK, 12, 0.1, impedance=1e-4)
    pattern = eit.Pattern.named("adjacent", 12, current=1e-3)
    volts = eit.simulate_readings(electrodes, pattern, [WATER, BODY])
    (found,) = TankImager.load().frames(
        eit.Measurement.of_electrodes(electrodes, pattern, volts[1:], volts[:1])
    )
    texts = [flag.text for flag in found.warnings if flag.kind == "tank"]
    assert any("12 electrodes" in text for text in texts)
    assert any("coverage" in text for text in texts)


def test_what_the_inspection_finds_is_corrected_and_told() -> None:
    data = measured("32 skip-3", [BODY])
    gone = data.pattern.without(5).mask[data.pattern.mask]
    loud = torch.where(gone, data.voltages, 5 * data.voltages)
    broken = eit.Measurement.of_electrodes(
        data.electrodes,
        data.pattern,
        loud,
        torch.where(gone, data.reference, 5 * data.reference),
        height=0.05,
    )
    (found,) = TankImager.load().frames(broken)
    assert "quality" in [flag.kind for flag in found.warnings]
    assert found.dice(BODY) > 0.8


def test_from_files_to_files(tmp_path) -> None:
    data = measured("16 adjacent", [BODY])
    files.write(data, tmp_path / "tank.npz")
    targets = [part for suffix in ("npz", "png", "json") for part in ("-o", str(tmp_path / f"a.{suffix}"))]
    result = CliRunner().invoke(app, ["reconstruct", str(tmp_path / "tank.npz"), *targets, "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["quantity"] == "sign"
    assert {"image", "uncertainty", "probabilities", "log_sigma", "deviation"} <= json.loads(
        (tmp_path / "a.json").read_text()
    ).keys()
    assert (tmp_path / "a.png").stat().st_size > 0


def test_the_folder_of_weights_is_whole() -> None:
    held = {file.name for file in weights.find_tank(None).iterdir()}
    wanted = {"best.json", "best.safetensors", "maps.safetensors", "config.json", "calibration.json"}
    assert wanted | {"log.jsonl", "card.md"} <= held


def test_outlines_explain_the_readings_better_than_circles() -> None:
    data = measured("32 skip-3", [BODY, WATER])
    imager = TankImager.load()
    plain, (found, empty) = list(imager.frames(data)), list(imager.frames(data, refine=10))
    assert found.refinement is not None
    assert 10 * found.refinement.misfit_after < found.refinement.misfit_before
    assert found.dice(BODY) > max(0.93, plain[0].dice(BODY) - 0.01)
    assert empty.refinement is not None
    assert empty.refinement.steps == 0


@pytest.mark.parametrize(
    ("frame", "kind"),
    [
        (lambda given: given.voltages * 1e3, "units"),  # millivolts against a reference in volts
        (lambda given: given.reference, "amplitude"),
        (lambda given: given.voltages.index_fill(1, torch.arange(4, 208), math.nan), "gap"),
    ],
)
def test_frames_that_tell_nothing_are_doubted(frame, kind) -> None:
    given = measured("16 adjacent", [BODY])
    wrong = eit.Measurement.of_electrodes(
        given.electrodes, given.pattern, frame(given), given.reference, height=given.height
    )
    found = next(TankImager.load().frames(wrong, 32))
    assert kind in {flag.kind for flag in found.warnings}
    assert bool(found.image.isfinite().all())


def test_a_lost_frame_does_not_spoil_the_others() -> None:
    given = measured("32 trigonometric", [BODY, BODY, BODY])
    volts = given.voltages.clone()
    volts[1], volts[2, ::7] = math.nan, math.nan
    gappy = eit.Measurement.of_electrodes(
        given.electrodes, given.pattern, volts, given.reference, height=given.height
    )
    whole, some = (list(TankImager.load().frames(one, 32)) for one in (given, gappy))
    assert torch.allclose(some[0].image, whole[0].image, atol=1e-4)
    assert float((some[2].image - whole[2].image).abs().mean()) < 0.02
    assert ["gap" in {flag.kind for flag in one.warnings} for one in some] == [False, True, False]
