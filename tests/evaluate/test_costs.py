import json
from unittest.mock import Mock

import pytest
import torch
import typer
from torch._subclasses.fake_tensor import FakeTensorMode
from typer.testing import CliRunner

from eitlens.cli.models import models
from eitlens.evaluate import costs, measure
from eitlens.evaluate.costs import activation_bytes, operations, printed_operations
from eitlens.models import Network, create

# 10⁹ operations of a forward pass at 201 × 201 by the published code: convolutions and matrix products, no
# Fourier transforms. The multiwavelet's modes are complex there: a product counts as 2 operations, not 8.
PUBLISHED = {
    "unet": 18.379,
    "unet-big": 24.084,
    "hybrid-ut": 9.588,
    "fno": 1.94,
    "fno-big": 4.15,
    "mwo": 4.78 + 0.0765,
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_operations_are_those_of_the_published_networks(name: str) -> None:
    assert measure(name, timed=False).gflops == pytest.approx(PUBLISHED[name], rel=0.01)


@pytest.mark.parametrize(
    ("name", "evaluation", "gflops"),
    [
        ("uit", "explicit", 42.472),
        ("uit", "reassociated", 23.681),
        ("uit-l3", "explicit", 42.59),
        ("uit-softmax", "softmax", 42.47),
        ("cross-ut", "softmax", 42.460),
    ],
)
def test_operations_in_the_published_order(name: str, evaluation: str, gflops: float) -> None:
    with FakeTensorMode():
        total, transforms = operations(create(name, faithful=True, evaluation=evaluation), 201)
    assert total / 1e9 == pytest.approx(gflops, rel=0.01)
    assert transforms == 0


@pytest.mark.parametrize(
    ("name", "counted", "off"),
    [
        ("unet", 140.6, 5e-4),
        ("unet-big", 184.1, 5e-4),
        ("uit", 657.5, 2e-3),
        ("cross-ut", 657.5, 3e-3),
        ("hybrid-ut", 78.4, None),
    ],
)
def test_the_paper_counts_convolutions_forward_and_attention_twice_as_much_again(
    name: str, counted: float, off: float | None
) -> None:
    """Its profiler counts a little more, sums and products of single numbers. For the Hybrid UT it prints 427.5."""
    cost = measure(name, timed=False)
    assert cost.printed_gflops == pytest.approx(counted, rel=1e-3)
    assert cost.published.gflops is not None
    if off is None:
        assert cost.published.gflops > 5 * cost.printed_gflops
    else:
        assert 0 <= cost.published.gflops - cost.printed_gflops + 0.05 < off * counted + 0.1


def test_the_hybrid_ut_on_a_grid_twice_as_fine_comes_nearer_to_print() -> None:
    with FakeTensorMode():
        network = create("hybrid-ut", faithful=True, resolution=256)
        assert 8e-9 * printed_operations(network, 201) == pytest.approx(313.7, abs=0.1)


def test_networks_of_fourier_modes_are_not_counted_as_printed() -> None:
    assert measure("fno", timed=False).printed_gflops is None


def test_our_order_costs_less_in_operations_and_memory() -> None:
    with FakeTensorMode():
        ours, published = create("uit"), create("uit", faithful=True)
        assert operations(ours, 201)[0] < 0.95 * operations(published, 201)[0]
        assert activation_bytes(ours, 201) < 0.35 * activation_bytes(published, 201)


def test_activations_of_the_unet() -> None:
    assert measure("unet", timed=False).activation_mib == pytest.approx(78, rel=0.05)


def test_a_network_that_reads_codes_has_costs_too() -> None:
    cost = measure("flagship", timed=False)
    assert cost.parameters == 13_543_197
    # Eight blocks of 633 tokens: maps of the channels (3 + 1 + 2 · 3) w² and the attention's 2 M w, twice each.
    blocks = 8 * 2 * 633 * (10 * 320**2 + 2 * 633 * 320) / 1e9
    assert blocks < cost.gflops < 2 * blocks


def test_speed_is_measured() -> None:
    cost = measure("uit-small", n=33)
    assert cost.images_per_second is not None
    assert cost.images_per_second > 0


def test_the_clock_waits_for_the_gpu_that_computes(monkeypatch) -> None:
    class Idle(Network):
        def random_input(self, batch, n, generator=None):
            seen = Mock(is_cuda=True, device=torch.device("cuda:1"))
            seen.to.return_value = seen
            return seen

        def latents(self, features):
            return {"logits": features}

    waited = []
    monkeypatch.setattr(torch.cuda, "synchronize", waited.append)
    monkeypatch.setattr(costs, "LEAST_SECONDS", 0)
    costs.speed(Idle(), 33, 1, "cuda:1")
    assert set(waited) == {torch.device("cuda:1")}


def test_command_prints_a_table_and_json() -> None:
    app = typer.Typer()
    app.command()(models)
    table = CliRunner().invoke(app, ["unet", "fno", "--no-time"], env={"COLUMNS": "200"})
    assert table.exit_code == 0
    assert "7,700,161" in table.output
    listed = CliRunner().invoke(app, ["unet", "--no-time", "--json"])
    (cost,) = json.loads(listed.output)
    assert cost["parameters"] == 7_700_161
    assert cost["published"]["gflops"] == 140.6
