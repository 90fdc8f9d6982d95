"""Data sets of tanks: readings of electrodes, killed and resumed, checked, read; old files stay as they are."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import eitlens as eit
from eitlens.dataset import DataConfig, Dataset, SamplerConfig, SolverConfig, check, generate
from eitlens.electrodes import TankConfig
from eitlens.errors import InputError
from eitlens.train import SourceConfig
from eitlens.train.supply import Supply

TANKS = DataConfig(
    "tanks",
    n=32,
    train=5,
    validation=2,
    test=2,
    shard=4,
    sampler=SamplerConfig("objects", count=2, disjoint=True, outside=0.3, size=(0.1, 0.2)),
    solver=SolverConfig("boundary-integral", nodes=64),
    body="disk",
    tank=TankConfig(electrodes=8, impedance=1e-4, scale=0.1, height=0.05),
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tanks")
    assert generate(TANKS, folder, device="cpu", workers=1).complete
    return folder


def test_readings_are_the_change_from_the_empty_tank(made: Path) -> None:
    dataset = Dataset.open(made)
    electrodes, pattern = dataset.tank
    samples = dataset.split("train")
    assert samples.difference.shape == (5, pattern.count)
    empty = eit.Phantom([], outside=0.3)
    for k in range(2):
        volts = eit.simulate_readings(electrodes, pattern, [samples.phantoms.phantom(k), empty], 0.05)
        change = volts[0] - volts[1]
        assert float((samples.difference[k] - change).norm() / change.norm()) < 1e-3
    checked = check(made)
    assert (checked.samples, checked.spot_checks) == (9, 9)


def test_a_killed_run_ends_in_the_same_bytes(made: Path, tmp_path: Path) -> None:
    for file in made.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "manifest.json").unlink()
    (tmp_path / "shard-00001.safetensors").unlink()
    report = generate(TANKS, tmp_path, device="cpu", workers=1)
    assert (report.made, report.kept) == (4, 5)
    for file in made.iterdir():
        assert (tmp_path / file.name).read_bytes() == file.read_bytes()


def test_elements_simulate_objects_that_overlap(tmp_path: Path) -> None:
    recipe = replace(
        TANKS,
        train=1,
        validation=0,
        test=0,
        sampler=SamplerConfig("objects", count=2, disjoint=False, outside=0.3),
        solver=SolverConfig("elements"),
    )
    assert generate(recipe, tmp_path, device="cpu", workers=1).complete
    samples = Dataset.open(tmp_path).read(0, 1)
    assert bool((samples.difference.abs() > 0).all())


def test_configurations_there_and_back() -> None:
    text = json.dumps(TANKS.to_dict())
    assert DataConfig.from_dict(json.loads(text)) == TANKS
    assert "currents" not in TANKS.to_dict()
    assert set(DataConfig("old").to_dict()["sampler"]) == {
        "shapes", "seed", "count", "disjoint", "gap", "extent", "inside", "outside",
    }  # fmt: skip
    assert DataConfig("old").to_dict()["solver"] == {"name": "grid", "tolerance": None}
    assert "tank" not in DataConfig("old").to_dict()


def test_the_digest_of_old_recipes_is_that_of_old_files() -> None:
    """Shards carry it: never change this."""
    from eitlens.dataset import preset

    assert preset("paper").digest == "85929a0860a3c6a689ae739a94ef52d1ca48633d995b0b2ee474034670968354"
    assert preset("smoke").digest == "19f8b36e3a44ee7ad652633a50fa19aa7ecb612c4eb193501d882d7f0f7f926c"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"solver": SolverConfig("grid")}, "the grid solver knows no electrodes"),
        ({"tank": TankConfig(coverage=1.0)}, "coverage"),
        ({"tank": TankConfig(pattern="sideways")}, "pattern must be one of"),
        ({"tank": TankConfig(pattern="trigonometric")}, "driven"),
        ({"tank": TankConfig(scale=-1.0)}, "scale"),
        ({"body": "square", "tank": TankConfig(scale=0.1)}, "has no 'scale'"),
        ({"currents": replace(DataConfig("x").currents, count=2)}, "leave them out"),
    ],
)
def test_what_cannot_be(changes: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        replace(TANKS, **changes)


def test_settings_of_samplers_that_do_not_know_them() -> None:
    with pytest.raises(InputError, match="sampler ellipses has no resistive"):
        SamplerConfig(resistive=(0.1, 0.2))
    with pytest.raises(InputError, match="sampler objects has no inside"):
        SamplerConfig("objects", inside=3.0)
    with pytest.raises(InputError, match="size: expected two numbers"):
        SamplerConfig("objects", size=(0.1, 0.2, 0.3))


def test_networks_of_currents_are_not_trained_on_readings(made: Path) -> None:
    for source in (SourceConfig(folder=str(made)), SourceConfig(stream=TANKS)):
        with pytest.raises(InputError, match="without a tank"):
            Supply.open(source)
