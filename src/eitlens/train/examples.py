"""The examples a network is trained on, step by step."""

import torch

from eitlens.dataset.samples import concatenate
from eitlens.feed import Example, Pipeline, Prefetcher
from eitlens.train.sources import Source

_STEPS_AHEAD = 2  # where examples are made one by one: a slow one then holds up no step


class ExampleFeed:
    """`feed(k)` is what the network is shown at step k; on a GPU it is made while the steps before are computed.

    Codes of many samples cost a GPU hardly more than those of few: it is the thousand small products one after
    the other that take time; and the host, which is busy with the steps, has fewer kernels to start. So examples
    are made for `group` steps at once; they are the same as one by one.
    """

    def __init__(
        self,
        source: Source,
        pipeline: Pipeline,
        device: torch.device,
        prefetch: bool | None = None,
        group: int = 1,
    ) -> None:
        self.source, self.pipeline, self.group = source, pipeline, group
        self._groups = Prefetcher(self._make, device, _STEPS_AHEAD if group == 1 else 1, prefetch)

    def __call__(self, step: int) -> Example:
        """Features and target."""
        number, place = divmod(step, self.group)
        return self._groups(number)[place]

    def close(self) -> None:
        """Stop working in advance."""
        self._groups.close()
        self.source.close()

    def _make(self, number: int) -> list[Example]:
        batches = [self.source(step) for step in range(number * self.group, (number + 1) * self.group)]
        epochs = {batch.epoch for batch in batches}
        if len(epochs) > 1 or self.group == 1:
            return [self.pipeline(batch.samples, batch.epoch) for batch in batches]
        together = self.pipeline(concatenate([batch.samples for batch in batches]), epochs.pop())
        return together.split(len(batches[0].samples))
