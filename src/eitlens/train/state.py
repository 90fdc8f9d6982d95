"""The state of a run, kept in its folder and restored from it."""

import copy
import math

from torch import Tensor

from eitlens.errors import InputError
from eitlens.evaluate.metrics import LARGER_IS_BETTER
from eitlens.models import Network
from eitlens.train import checkpoint, optimiser
from eitlens.train.folder import RunFolder
from eitlens.train.setup import TrainingParts


class State:
    """The network, its mean, the optimisers, the progress, and the best weights so far."""

    def __init__(self, setup: TrainingParts, run: RunFolder, select: str) -> None:
        self.setup, self.run, self.select = setup, run, select
        self.best: dict[str, float] = {}
        self._weights: dict[str, Tensor] = {}

    def consider(self, metrics: dict[str, float]) -> None:
        """Remember the weights that are validated if they are the first or the best yet."""
        if not self.best or self._loss(metrics) < self._loss(self.best):
            self.best = metrics | {"step": self.setup.tracker.step}
            self._weights = {k: v.detach().clone() for k, v in self.setup.kept.state_dict().items()}

    def _loss(self, metrics: dict[str, float]) -> float:
        """The metric that the best weights have least of; what is not a number is worse than any number."""
        value = metrics[self.select]
        return math.inf if math.isnan(value) else -value if self.select in LARGER_IS_BETTER else value

    def keep(self) -> None:
        """Write the checkpoint, and the weights so far as files of their own."""
        setup, now = self.setup, self.setup.tracker
        progress = checkpoint.Progress(now.step, now.progress, now.stride, now.elapsed, self.best)
        parts = {
            "network": setup.network.state_dict(),
            "optimiser": optimiser.to_tensors(setup.optimisers),
            "best": self._weights,
        }
        if setup.average is not None:
            parts["average"] = setup.average.network.state_dict()
        checkpoint.write(self.run.checkpoint, progress, parts)
        self.export()

    def export(self) -> None:
        """Write the best and the last weights."""
        self.run.keep(self.setup.kept, "last")
        if self._weights:
            best = copy.deepcopy(self.setup.kept)
            best.load_state_dict(self._weights)
            self.run.keep(best, "best")

    def restore(self) -> None:
        """Restore the checkpoint, if there is one."""
        path = self.run.checkpoint
        if not path.exists():
            return
        progress, parts = checkpoint.read(path)
        setup, tracker = self.setup, self.setup.tracker
        try:
            _load(setup.network, parts.get("network", {}))
            if setup.average is not None:
                _load(setup.average.network, parts.get("average", {}))
            if progress.best:
                _check(setup.kept, parts.get("best", {}))
            optimiser.from_tensors(setup.optimisers, parts.get("optimiser", {}))
        except InputError as error:
            raise InputError(f"{path}: {error}: delete it to train again from the start") from None
        tracker.step, tracker.progress = progress.step, progress.progress
        tracker.stride, tracker.spent = progress.stride, progress.spent
        self.best = progress.best
        self._weights = {name: tensor.to(setup.device) for name, tensor in parts.get("best", {}).items()}


def _load(network: Network, tensors: dict[str, Tensor]) -> None:
    _check(network, tensors)
    network.load_state_dict(tensors)


def _check(network: Network, tensors: dict[str, Tensor]) -> None:
    expected = network.state_dict()
    odd = sorted(expected.keys() ^ tensors.keys())
    odd = odd or [name for name, tensor in expected.items() if tensors[name].shape != tensor.shape]
    if odd:
        raise InputError(f"the checkpoint of another network: {odd[0]!r} does not fit")
