"""A few hundred damaged files of every format: the study `validation/damaged_files.py` in small."""

import importlib.util
import random
import sys
from pathlib import Path

import pytest

from eitlens.measure.isolation import SafeParser

STUDIES = Path(__file__).parents[2] / "validation"
COUNT = 300


@pytest.fixture(scope="module")
def study():
    pytest.importorskip("h5py")
    sys.path.insert(0, str(STUDIES))
    try:
        specification = importlib.util.spec_from_file_location("damaged_files", STUDIES / "damaged_files.py")
        module = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(str(STUDIES))


@pytest.fixture(scope="module")
def parser():
    found = SafeParser()
    yield found
    found.close()


def test_every_damaged_file_is_a_measurement_or_one_line(study, parser):
    sound, draw = study.samples(), random.Random(7)
    assert {study.outcome(parser, content, name) for name, content in sound.items()} == {"read"}
    found = []
    for k in range(COUNT):
        name = list(sound)[k % len(sound)]
        found.append(study.outcome(parser, study.damaged(sound[name], draw), name))
    assert set(found) == {"read", "refused"}
    assert found.count("refused") > COUNT // 3


def test_files_that_point_at_others_are_refused(study, parser, tmp_path):
    decoy = tmp_path / "decoy.h5"
    decoy.write_bytes(study.samples()["points.h5"])
    assert {study.outcome(parser, content, name) for name, content in study._links(decoy).items()} == {
        "refused"
    }


def test_the_child_can_open_no_file(study, parser):
    """The system refuses, whatever a library is told to do."""
    parser(study.samples()["points.mat"], "points.mat")
    limits = Path(f"/proc/{parser._child.process.pid}/limits")
    if not limits.exists():
        pytest.skip("only Linux tells the limits of a process")
    told = {line[:25].strip(): line[25:].split() for line in limits.read_text().splitlines()}
    assert told["Max open files"][:2] == ["0", "0"]
    assert int(told["Max address space"][0]) < 2 << 30
