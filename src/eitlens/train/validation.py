"""Metrics over the validation split, shared by all processes."""

from contextlib import AbstractContextManager

import torch
from torch import Tensor, nn
from torch import distributed as dist

from eitlens.dataset import Samples
from eitlens.evaluate.metrics import METRICS, per_sample
from eitlens.feed import Pipeline
from eitlens.train.sources import Part

BATCH = 128


class Validator:
    """Means of the metrics over samples that never change, with noise that never changes.

    With `even`, in batches of one size if possible: a compiled network is compiled again for each size.
    """

    def __init__(self, samples: Samples, pipeline: Pipeline, part: Part, even: bool = False) -> None:
        self.count = len(samples)
        rows = torch.arange(part.rank, self.count, part.world, device=samples.index.device)
        self._samples, self._pipeline, self._part = samples[rows], pipeline, part
        self._batch = even_batch(len(rows)) if even else BATCH

    @torch.no_grad()
    def __call__(self, network: nn.Module, autocast: AbstractContextManager[object]) -> dict[str, float]:
        """The mean of each metric over all samples, each counted once; one wait for the device."""
        training = network.training
        network.eval()
        totals = torch.zeros(len(METRICS), dtype=torch.float64, device=self._samples.index.device)
        with autocast:
            for start in range(0, len(self._samples), self._batch):
                totals += self._sums(network, self._samples[start : start + self._batch])
        network.train(training)
        if self._part.world > 1:
            dist.all_reduce(totals)
        return dict(zip(METRICS, (totals / self.count).tolist(), strict=True))

    def _sums(self, network: nn.Module, samples: Samples) -> Tensor:
        example = self._pipeline(samples)
        values = per_sample(network(example.features).float(), example.target)
        return torch.stack([value.sum() for value in values.values()])


def even_batch(count: int) -> int:
    """The largest batch that divides the count, unless it is less than half of the usual one."""
    return next((batch for batch in range(BATCH, BATCH // 2 - 1, -1) if count % batch == 0), BATCH)
