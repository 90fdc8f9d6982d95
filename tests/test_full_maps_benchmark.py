"""The benchmark of full boundary maps: its samples, its moves, its heads, and the whole of it, tiny."""

import json
import sys
from pathlib import Path

import pytest
import torch

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import full_maps  # noqa: E402
import full_maps_data as data  # noqa: E402
import full_maps_heads as heads  # noqa: E402
from full_maps_network import FullMap, linear_parts, network_config  # noqa: E402

from eitlens.errors import InputError  # noqa: E402
from eitlens.feature.noisy_maps import WhiteCode  # noqa: E402
from eitlens.phantom.disk_images import LognormalTask, ShapeTask, radii, task_of  # noqa: E402

HOW = data.Resolution(rings=8, angles=32, waves=10, nodes=64)
CPU = torch.device("cpu")


def known(task: LognormalTask | ShapeTask, count: int) -> tuple[WhiteCode, data.Coded]:
    made = data.simulated(task, torch.arange(count), HOW)
    samples = data.Samples(made["maps"], HOW.waves, made["log_sigma"])
    code = WhiteCode.fit(samples.maps(), 40)
    return code, data.coded(code, samples)


def test_blocks_are_made_once_and_read_again(tmp_path, capsys):
    task = ShapeTask(1)
    data.generate(tmp_path, task, range(200), HOW, CPU, 50)
    capsys.readouterr()
    data.generate(tmp_path, task, range(200), HOW, CPU, 50)
    assert capsys.readouterr().out == ""
    found = data.read(tmp_path, range(50, 150), CPU)
    expected = data.simulated(task, torch.arange(50, 52), HOW)
    assert torch.equal(found.log_sigma[:2], expected["log_sigma"])
    assert torch.equal(found.packed[:2], expected["maps"])
    assert torch.equal(found.maps(slice(2)), found.maps(slice(2)).mT)
    with pytest.raises(InputError, match="from 200 on"):
        data.read(tmp_path, range(100, 300), CPU)
    with pytest.raises(InputError, match="simulated otherwise"):
        data.generate(tmp_path, task, range(100), data.Resolution(8, 32, 11, 64), CPU, 50)


def test_codes_and_images_move_together():
    """The code of a moved body is that of its moved image."""
    task = LognormalTask(2)
    code, shown = known(task, 30)
    z, sigma = data.moved(code, shown, 64, task.sharp, torch.Generator().manual_seed(0))
    nodes = torch.nn.functional.interpolate(sigma[:, None].double(), 65, mode="bilinear", align_corners=True)
    again = code.coordinates(HOW.grid(task).differences(nodes[:, 0], HOW.waves))
    loud = slice(0, 4)
    assert float((again - z)[:, loud].square().mean().sqrt()) < 0.1
    assert float((again - shown.z)[:, loud].square().mean().sqrt()) > 0.5


def test_noise_of_size_zero_changes_nothing():
    code, shown = known(ShapeTask(1), 30)
    inputs = data.noisy_input(code, shown.z, torch.zeros(30).double(), torch.Generator())
    assert torch.equal(inputs[:, -code.size :], shown.z.float())
    assert not inputs[:, code.size : 2 * code.size].any()


@pytest.mark.parametrize("name", heads.HEADS)
def test_certain_outputs_are_the_image(name):
    """Where the network is sure, its image is the truth, and nothing else has a smaller loss."""
    head = heads.HEADS[name]
    sigma = data.simulated(task_of(name, 4), torch.arange(3), HOW)["log_sigma"].float().exp()
    target = head.targets(sigma)
    if name == "lognormal":
        outputs = target
    elif name == "shape":
        outputs = 40 * target - 20
    else:
        values = [torch.where(there > 0, sigma.log(), 0.0) for there in target[:, :2].unbind(1)]
        outputs = torch.stack([*(40 * target[:, :2] - 20).unbind(1), *values], 1)
    inside = radii(64, CPU) < 1
    assert torch.allclose(head.sigma(outputs), sigma, rtol=1e-3)
    assert float(head.loss(outputs, sigma, inside)) < 1e-4
    assert float(head.loss(0.5 * outputs, sigma, inside)) > float(head.loss(outputs, sigma, inside))


def test_the_published_measure():
    """Half of all pixels wrong by 1, all of σ = 2; outside the disk nothing counts as wrong."""
    truth = torch.full((1, 3, 3), 2.0).double()
    found = heads.relative_l1(torch.full((1, 3, 3), 3.0), truth)
    assert found["relative_l1"] == pytest.approx((5 * 1 + 4 * 1) / 18)
    assert found["relative_l1_disk"] == pytest.approx((5 + 4) / 10)


def test_the_network_begins_with_the_linear_estimate():
    task, head = LognormalTask(2), heads.HEADS["lognormal"]
    code, shown = known(task, 30)
    small = {"width": 64, "layers": 1, "heads": 2, "hidden": 16, "fine": 8, "grid": 8}
    network = FullMap(network_config(head, code, small), head)
    parts = linear_parts(code, shown.z, head.targets(shown.log_sigma.float().exp()), 8, network.side)
    network.begin_linear(*parts)
    inputs = data.noisy_input(code, shown.z, torch.zeros(30).double(), torch.Generator())
    expected = parts.mean + torch.tensordot(shown.z, parts.modes, 1)
    assert torch.allclose(network.pixels(inputs).double(), expected, atol=1e-4)


def test_all_of_it_tiny(tmp_path, monkeypatch):
    """Data, linear estimates, a training that goes on, and scores, of one task."""
    monkeypatch.setitem(full_maps.TOY, "minutes", 0.01)
    command = ["full_maps.py", "all", "--toy", "--device", "cpu", "--task", "shape", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", command)
    full_maps.main()
    steps = json.loads((tmp_path / "toy" / "shape_100" / "run.json").read_text())["steps"]
    monkeypatch.setitem(full_maps.TOY, "minutes", 0.02)
    full_maps.main()
    assert json.loads((tmp_path / "toy" / "shape_100" / "run.json").read_text())["steps"] > steps
    result = json.loads((tmp_path / "toy" / "shape_100.json").read_text())
    assert set(result["noise"]) == {f"{level:g}" for level in full_maps.LEVELS}
    assert 0 < result["noise"]["0"]["relative_l1"] < result["noise"]["0.3"]["relative_l1"] < 1
