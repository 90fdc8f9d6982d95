"""The network that reads codes."""

import pytest
import torch
from torch import Tensor

from eitlens.errors import InputError
from eitlens.models import create, export_onnx, load, names, save
from eitlens.models.flagship import Flagship
from eitlens.models.registry import NETWORKS

SMALL = {
    "modes": 12,
    "width": 32,
    "layers": 2,
    "heads": 2,
    "grid": 5,
    "hidden": 16,
    "waves": 3,
    "amplitudes": 2,
    "fine": 8,
}


def small(**settings: bool) -> Flagship:
    torch.manual_seed(0)
    network = create("flagship", **(SMALL | settings))
    assert isinstance(network, Flagship)
    with torch.no_grad():
        network.extension.normal_()
    return network


def codes(batch: int) -> Tensor:
    return torch.randn(batch, 3 * 12 + 1, generator=torch.Generator().manual_seed(1))


def test_it_is_registered_apart_from_the_networks_of_the_paper():
    assert names(reads="gaussian") == ["flagship"]
    assert "flagship" not in names()


def test_parameter_count():
    found = sum(parameter.numel() for parameter in create("flagship").parameters())
    assert found == NETWORKS["flagship"].parameters


@pytest.mark.parametrize("softmax", [True, False])
def test_gradient_reaches_every_parameter(softmax):
    network = small(softmax=softmax)
    logits = network(codes(2))
    assert logits.shape == (2, 1, 41, 41)
    (logits * torch.linspace(-1, 1, logits.numel()).view_as(logits)).sum().backward()
    for key, parameter in network.named_parameters():
        assert parameter.grad is not None, key
        assert parameter.grad.abs().max() > 0, key


def test_the_image_is_one_function_on_every_grid():
    """Between the centres of the finest cells it is linear, so grids that share nodes share values."""
    network = small().eval()
    with torch.no_grad():
        coarse, fine = network.on_grid(codes(1), 41), network.on_grid(codes(1), 81)
    torch.testing.assert_close(fine[..., ::2, ::2], coarse, atol=1e-5, rtol=1e-5)


def test_the_linear_part_begins_as_the_fields_it_is_given():
    network = small()
    fields = torch.randn(12, 9, 5, 5, generator=torch.Generator().manual_seed(2))
    mean = torch.randn(9, 5, 5, generator=torch.Generator().manual_seed(3))
    network.start_linear(fields, mean)
    code = codes(3)
    found = network.latents(code)["fields/5"]
    expected = mean + torch.tensordot(code[:, -12:], fields, 1)
    ratio = found / expected
    assert (ratio.amax((0, 2, 3)) - ratio.amin((0, 2, 3))).abs().max() < 1e-2 * ratio.mean().abs()


def test_samples_do_not_mix_and_evaluation_is_deterministic():
    network = small().eval()
    with torch.no_grad():
        together = network(codes(3))
        assert torch.equal(together, network(codes(3)))
        torch.testing.assert_close(together[1:2], network(codes(3)[1:2]), rtol=1e-4, atol=1e-5)


def test_saved_and_loaded(tmp_path):
    network = small().eval()
    again = load(save(network, tmp_path / "flagship"))
    with torch.no_grad():
        assert torch.equal(again(codes(1)), network(codes(1)))


def test_exporting_it_alone_is_refused(tmp_path):
    with pytest.raises(InputError, match="reads codes: `eitlens export flagship"):
        export_onnx(small(), tmp_path / "network.onnx")
