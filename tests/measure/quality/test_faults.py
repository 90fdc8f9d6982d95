"""Faults in random tanks: some here, and what the study counted of a hundred each."""

import json
import sys
from pathlib import Path

import pytest

from eitlens.measure.quality import inspect

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "validation"))

import quality  # noqa: E402
from quality_faults import FAULTS, sound  # noqa: E402


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named_and_its_correction_is_sound(name: str) -> None:
    measurement, named = FAULTS[name](2)
    report = inspect(measurement)
    assert named(report), [finding.text for finding in report.findings]
    again = inspect(report.applied())
    assert [finding.kind for finding in again.findings] == (["noise"] if name == "noise" else [])
    fixed = [finding for finding in report.findings if finding.fix is not None]
    assert len(report.applied().notes) == len(fixed)


@pytest.mark.parametrize("ellipse", [False, True])
def test_a_sound_tank_is_not_suspected(ellipse: bool) -> None:
    measurement, _ = sound(3, ellipse)
    report = inspect(measurement)
    assert report.findings == ()
    assert report.applied() is measurement
    told = any("numbering cannot be checked" in remark for remark in report.remarks)
    assert told is not ellipse


def test_what_the_study_counted() -> None:
    """`python validation/quality.py` writes it."""
    found = json.loads((ROOT / "results/quality.json").read_text())
    assert set(found) == {*FAULTS, *quality.SOUND}
    for name, part in found.items():
        assert part["tanks"] == 100
        assert part["right"] == part["tanks"] - len(part["wrong"])
        wanted = 1 - quality.FALSE_ALARMS if name in quality.SOUND else quality.FOUND
        assert part["right"] >= wanted * part["tanks"], name
