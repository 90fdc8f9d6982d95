"""Metrics over the validation split, shared by all processes."""

import torch
from torch import Tensor, nn

from eitlens.dataset import Samples
from eitlens.evaluate.metrics import METRICS, per_sample
from eitlens.evaluate.phases import PHASE_METRICS, phased_metrics
from eitlens.feed import Pipeline
from eitlens.train.processes import Processes

BATCH = 128  # samples: enough to keep a GPU busy, few enough for its memory beside the training's


class Validator:
    """Means of the metrics over samples that never change, with noise that never changes.

    With `equal_batches` they are of one size if possible: a compiled network is compiled again for each size.
    """

    def __init__(
        self, samples: Samples, pipeline: Pipeline, processes: Processes, equal_batches: bool = False
    ) -> None:
        self.count = len(samples)
        rows = torch.arange(processes.rank, self.count, processes.world, device=samples.index.device)
        self._samples, self._pipeline, self._processes = samples[rows], pipeline, processes
        self._phased = pipeline.sigma
        self._names = (*METRICS, *PHASE_METRICS) if pipeline.sigma else tuple(METRICS)
        self._batch = equal_batch(len(rows)) if equal_batches else BATCH

    @torch.no_grad()
    def __call__(self, network: nn.Module) -> dict[str, float]:
        """The mean of each metric over all samples, each counted once; one wait for the device."""
        training = network.training
        network.eval()
        totals = torch.zeros(len(self._names), dtype=torch.float64, device=self._samples.index.device)
        with self._processes.autocast():
            for start in range(0, len(self._samples), self._batch):
                totals += self._sums(network, self._samples[start : start + self._batch])
        network.train(training)
        means = self._processes.sum(totals) / self.count
        return dict(zip(self._names, means.tolist(), strict=True))

    def _sums(self, network: nn.Module, samples: Samples) -> Tensor:
        example = self._pipeline(samples)
        outputs = network(example.features).float()
        values = (
            phased_metrics(outputs, example.target) if self._phased else per_sample(outputs, example.target)
        )
        return torch.stack([value.sum() for value in values.values()])


def equal_batch(count: int) -> int:
    """The largest batch that divides the count, unless it is less than half of the usual one."""
    return next((batch for batch in range(BATCH, BATCH // 2 - 1, -1) if count % batch == 0), BATCH)
