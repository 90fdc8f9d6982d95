"""Training on a GPU; skipped where there is none."""

from dataclasses import replace

import pytest
import torch

from eitlens.train import train
from eitlens.train.folder import read_log

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def _losses(folder) -> list[float]:
    return [float(row["loss"]) for row in read_log(folder / "log.csv")]


def test_a_gpu_sees_what_a_cpu_sees(run, finished, tmp_path):
    # Dropout differs, so only the beginning can be compared.
    train(run, tmp_path, device="cuda")
    assert _losses(tmp_path)[:2] == pytest.approx(_losses(finished)[:2], rel=0.05)


@pytest.mark.parametrize("mode", ["off", "default", "reduce-overhead"])
def test_bfloat16_stopped_and_resumed(run, tmp_path, mode):
    config = replace(run, precision="bf16", compile=mode, augment=True, clip=1.0, weight_decay=0.01)
    assert train(config, tmp_path, device="cuda", stop_after=0) is None
    result = train(config, tmp_path, device="cuda")
    assert result is not None
    assert result["steps"] == 12
    losses = _losses(tmp_path)
    assert losses[-1] < losses[0]
