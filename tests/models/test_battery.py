"""What every registered network must do. Nothing here is for any one of them: a new preset is tested too."""

import json
from dataclasses import fields
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from eitlens.models import Network, create, export_onnx, load, names, save
from eitlens.models.registry import NETWORKS, takes_faithful

GOLDEN = Path(__file__).parent / "golden.json"
SIZES = (33, 64, 101, 128, 201)
CURRENTS = (1, 3, 5)
SMALL = 33
LIGHT = {"layers": 2, "resolution": 64}

every_preset = pytest.mark.parametrize("name", names())
published_otherwise = pytest.mark.parametrize("name", [name for name in names() if takes_faithful(name)])


def features(network: Network, batch: int, n: int) -> Tensor:
    return torch.randn(batch, 3 * network.config.currents, n, n, generator=torch.Generator().manual_seed(1))


def light(name: str, faithful: bool = False) -> Network:
    """The preset with fewer layers on a coarser grid: all its parts, for tests that need no more of each."""
    known = {field.name for field in fields(NETWORKS[name].config)}
    torch.manual_seed(0)
    settings = {key: value for key, value in LIGHT.items() if key in known}
    return create(name, faithful=faithful, **settings)


def whole(name: str) -> Network:
    torch.manual_seed(0)
    return create(name)


def test_battery_is_not_empty() -> None:
    assert len(names()) >= 13
    assert set(json.loads(GOLDEN.read_text())) == set(names())


@every_preset
def test_parameter_count(name: str) -> None:
    with FakeTensorMode():
        assert sum(parameter.numel() for parameter in create(name).parameters()) == NETWORKS[name].parameters


@every_preset
def test_shape_and_dtype_on_every_grid_for_every_number_of_currents(name: str) -> None:
    with FakeTensorMode(), torch.no_grad():
        for currents in CURRENTS:
            network = create(name, currents=currents).eval()
            for n in SIZES:
                logits = network(torch.empty(2, 3 * currents, n, n))
                assert logits.shape == (2, 1, n, n)
                assert logits.dtype == torch.float32


@every_preset
def test_latents_are_named_by_part_and_size(name: str) -> None:
    network = light(name).eval()
    x = features(network, 2, SMALL)
    with torch.no_grad():
        latents = network.latents(x)
        logits = network(x)
    *parts, last = latents.items()
    assert last[0] == "logits"
    assert torch.equal(last[1], logits)
    assert logits.shape == (2, 1, SMALL, SMALL)
    assert len(parts) >= 2
    for key, latent in parts:
        assert latent.shape[0] == 2
        assert latent.shape[2:] == (int(key.split("/")[1]),) * 2


@every_preset
def test_gradient_reaches_every_parameter(name: str) -> None:
    network = light(name).train()
    logits = network(features(network, 2, SMALL))
    (logits * torch.linspace(-1, 1, logits.numel()).view_as(logits)).sum().backward()
    for key, parameter in network.named_parameters():
        assert parameter.grad is not None, key
        assert torch.isfinite(parameter.grad).all(), key
        assert parameter.grad.abs().max() > 0, key


@published_otherwise
def test_a_parameter_of_the_published_network_that_nothing_uses_waits_for_no_gradient(name: str) -> None:
    """Several processes would, for ever; but it is there, and counted."""
    network = light(name, faithful=True).train()
    network(features(network, 2, SMALL)).sum().backward()
    for key, parameter in network.named_parameters():
        assert parameter.requires_grad == (parameter.grad is not None), key
    with FakeTensorMode():
        count = sum(parameter.numel() for parameter in create(name, faithful=True).parameters())
    assert count == NETWORKS[name].parameters


@every_preset
def test_evaluation_is_deterministic_and_samples_do_not_mix(name: str) -> None:
    network = light(name).eval()
    x = features(network, 3, SMALL)
    with torch.no_grad():
        together = network(x)
        assert torch.equal(together, network(x))
        torch.testing.assert_close(together[1:2], network(x[1:2]), rtol=1e-4, atol=1e-5)


@every_preset
def test_saved_and_loaded_bit_by_bit(name: str, tmp_path: Path) -> None:
    network = light(name).eval()
    again = load(save(network, tmp_path / name))
    assert again.config == network.config
    assert again.state_dict().keys() == network.state_dict().keys()
    for key, tensor in network.state_dict().items():
        assert torch.equal(again.state_dict()[key], tensor), key
    x = features(network, 1, SMALL)
    with torch.no_grad():
        assert torch.equal(again(x), network(x))


@every_preset
def test_captured_whole_for_compilation(name: str) -> None:
    torch.compiler.reset()
    network = light(name).train()
    torch.compile(network, fullgraph=True, backend="eager")(features(network, 2, SMALL)).sum().backward()
    assert all(parameter.grad is not None for parameter in network.parameters())


@every_preset
def test_exported_to_onnx(name: str, tmp_path: Path) -> None:
    assert export_onnx(light(name), tmp_path / "network.onnx", n=SMALL, batch=2) <= 1e-4


@pytest.mark.parametrize("name", names()[:1])
def test_exported_for_any_batch(name: str, tmp_path: Path) -> None:
    assert export_onnx(light(name), tmp_path / "network.onnx", n=SMALL) <= 1e-4


@every_preset
def test_golden_output(name: str) -> None:
    golden = torch.tensor(json.loads(GOLDEN.read_text())[name])
    torch.testing.assert_close(fingerprint(whole(name).eval()), golden, rtol=1e-3, atol=2e-5)


@torch.no_grad()
def fingerprint(network: Network) -> Tensor:
    """Mean, deviation and nine values of the logits."""
    logits = network(features(network, 1, SMALL))[0, 0]
    return torch.cat([torch.stack([logits.mean(), logits.std()]), logits[::16, ::16].flatten()])


if __name__ == "__main__":  # writes the golden outputs anew, after a change that is meant to change them
    prints = {
        name: [round(value, 6) for value in fingerprint(whole(name).eval()).tolist()] for name in names()
    }
    rows = [f'  "{name}": {json.dumps(values)}' for name, values in prints.items()]
    GOLDEN.write_text("{\n" + ",\n".join(rows) + "\n}\n")
