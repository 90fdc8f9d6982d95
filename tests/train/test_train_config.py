import json
from dataclasses import replace

import pytest
import torch
from torch.optim import Adam
from torch.optim.lr_scheduler import OneCycleLR

from eitlens.errors import InputError
from eitlens.train import PRESETS, Schedule, SourceConfig, TrainConfig, preset
from eitlens.train.config import difference
from eitlens.train.losses import LOSS_NAMES, LOSSES, PHASES


@pytest.mark.parametrize("name", PRESETS)
def test_configurations_go_to_json_and_back(name):
    config = preset(name)
    assert TrainConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"epochs": 1, "rate": 1}, "unknown key 'rate'"),
        ({"epochs": 1, "schedule": {"warmup": 1}}, "unknown key 'warmup'"),
        ({"epochs": 1, "network": {"settings": {"currents": 3}}}, "number of currents is that of the data"),
        ({"epochs": 1, "samples": 10}, "expected one of epochs, samples, minutes"),
        ({}, "expected one of epochs, samples, minutes"),
        ({"epochs": 1, "batch": 0}, "batch must be at least 1, got 0"),
        ({"epochs": 1, "batch": "ten"}, "batch must be of type int"),
        ({"epochs": 1, "loss": "huber"}, "loss must be one of bce, weighted-bce, soft-dice, l2"),
        ({"epochs": 1, "noise": {"levels": 0.1}}, "levels must be a list"),
        ({"epochs": 1, "noise": {"levels": ["loud"]}}, "noise: levels: expected real numbers"),
        ({"epochs": 1, "counts": 3}, "expected a list of numbers of currents"),
        ({"epochs": 1, "counts": "12"}, "expected a list of numbers of currents"),
        ({"epochs": 1, "counts": [1.5]}, "expected a list of numbers of currents"),
        ({"epochs": float("inf")}, "expected one of epochs, samples, minutes"),
        ({"epochs": 2, "samples": -1}, "expected one of epochs, samples, minutes"),
        ({"epochs": 1, "clip": float("nan")}, "clip must be at least 0, got nan"),
        ({"epochs": 1, "schedule": {"peak": 0.0}}, "peak must lie in"),
        ({"epochs": 1, "average": 1.0}, "average must lie in"),
        ([], "expected an object with the keys"),
    ],
)
def test_bad_settings_are_refused_in_one_line(values, message):
    with pytest.raises(InputError, match=message) as caught:
        TrainConfig.from_dict(values)
    assert "\n" not in str(caught.value)


def test_names_that_do_not_exist():
    with pytest.raises(InputError, match=r"preset .*paper, flagship, uit-small, smoke"):
        preset("papers")


def test_a_folder_and_a_stream_exclude_each_other(data):
    with pytest.raises(InputError, match="choose one"):
        SourceConfig(folder="here", stream=data)


def test_the_first_setting_that_differs_is_named():
    one = preset("paper")
    assert difference(one, one) is None
    assert difference(one, replace(one, batch=64)) == "batch is 64, not 10"


def test_the_schedule_is_the_papers():
    schedule, steps = Schedule(), 43_200
    values = [schedule((i + 1) / steps) for i in range(steps)]
    rates = [lr for lr, _ in values]
    assert rates[0] == pytest.approx(1e-6, rel=1e-4)
    assert max(rates) == rates[8639] == pytest.approx(1e-3)
    assert rates[-1] == pytest.approx(1e-6)
    assert values[0][1] == pytest.approx(0.95)
    assert values[8639][1] == pytest.approx(0.85)
    assert values[-1][1] == pytest.approx(0.95)


def test_the_schedule_is_torchs():
    steps = 1000
    optimiser = Adam([torch.nn.Parameter(torch.zeros(1))])
    theirs = OneCycleLR(
        optimiser, 1e-3, total_steps=steps, pct_start=0.2, div_factor=1e3, final_div_factor=1.0
    )
    ours = Schedule()
    for i in range(steps):
        lr, beta1 = ours((i + 1) / steps)
        group = optimiser.param_groups[0]
        # Torch's first step is at progress 0, ours one step further: a thousandth of the way.
        assert lr == pytest.approx(group["lr"], abs=1e-5)
        assert beta1 == pytest.approx(group["betas"][0], abs=1e-3)
        optimiser.step()
        if i + 1 < steps:
            theirs.step()


@pytest.mark.parametrize("name", [name for name in LOSS_NAMES if name != PHASES])
def test_losses_vanish_at_the_truth_and_have_gradients(name):
    truth = (torch.rand(3, 1, 20, 20) < 0.2).float()
    assert float(LOSSES[name](60 * (2 * truth - 1), truth)) == pytest.approx(0, abs=1e-6)
    logits = torch.zeros_like(truth).requires_grad_()
    loss = LOSSES[name](logits, truth)
    loss.backward()
    assert float(loss.detach()) > 0.1
    assert torch.isfinite(logits.grad).all()
    assert float((logits.grad * (1 - 2 * truth)).min()) >= 0  # downhill is towards the truth


def test_the_weights_of_the_published_loss():
    # Areas 0.081, 0.13, 0.196 of 1000 nodes have relative weights 1.27, 1, 0.81.
    truth = torch.zeros(3, 1, 10, 100)
    for sample, inside in zip(truth, (81, 130, 196), strict=True):
        sample.view(-1)[:inside] = 1
    logits = torch.zeros_like(truth).requires_grad_()
    LOSSES["weighted-bce"](logits, truth).backward()
    size = logits.grad.abs().mean((1, 2, 3))
    assert (size / size[1]).tolist() == pytest.approx([1.27, 1, 0.81], abs=0.01)
