"""Metrics over the validation split, shared by all processes."""

from contextlib import AbstractContextManager

import torch
from torch import Tensor, nn
from torch import distributed as dist

from eitlens.data import Pipeline, Samples
from eitlens.evaluate.metrics import METRICS, per_sample
from eitlens.train.sources import Part

BATCH = 128


class Validator:
    """Means of the metrics over samples that never change, with noise that never changes."""

    def __init__(self, samples: Samples, pipeline: Pipeline, part: Part) -> None:
        self.count = len(samples)
        rows = torch.arange(part.rank, self.count, part.world, device=samples.index.device)
        self._samples, self._pipeline, self._part = samples[rows], pipeline, part

    @torch.no_grad()
    def __call__(self, network: nn.Module, autocast: AbstractContextManager[object]) -> dict[str, float]:
        """The mean of each metric over all samples, each counted once; one wait for the device."""
        training = network.training
        network.eval()
        totals = torch.zeros(len(METRICS), dtype=torch.float64, device=self._samples.index.device)
        with autocast:
            for start in range(0, len(self._samples), BATCH):
                totals += self._sums(network, self._samples[start : start + BATCH])
        network.train(training)
        if self._part.world > 1:
            dist.all_reduce(totals)
        return dict(zip(METRICS, (totals / self.count).tolist(), strict=True))

    def _sums(self, network: nn.Module, samples: Samples) -> Tensor:
        example = self._pipeline(samples)
        values = per_sample(network(example.features).float(), example.target)
        return torch.stack([value.sum() for value in values.values()])
