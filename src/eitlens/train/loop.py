"""The training loop.

Steps are queued without waiting for the device: the loss is read, the clock looked at and the state kept only
every `log_every` steps. Everything random in step k (order, noise, symmetry, dropout) is a pure function of
(seed, k), so a run that goes on from a checkpoint is the run that was never stopped.
"""

import math
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
from torch import distributed as dist

from eitlens.device import float32_products
from eitlens.errors import InputError
from eitlens.files import write_json
from eitlens.random import mixed
from eitlens.train import optimiser
from eitlens.train.config import TrainConfig
from eitlens.train.folder import Log, RunFolder, git_state
from eitlens.train.loggers import Observer, Row
from eitlens.train.losses import LOSSES
from eitlens.train.processes import Processes
from eitlens.train.setup import TrainingParts, check_batch, create_network, prepare
from eitlens.train.state import State
from eitlens.train.supply import Supply

COLUMNS = ("step", "epoch", "samples", "progress", "lr", "loss", "images_per_second", "seconds")


def train(
    config: TrainConfig,
    folder: str | Path,
    device: str = "auto",
    stop_after: float = math.inf,
    observers: tuple[Observer, ...] = (),
) -> dict[str, Any] | None:
    """Train, or go on with, the run in a folder; its result, or None when it was told to stop before the end.

    Args:
        config: the run. The folder may hold the same one, not finished: it goes on where it was.
        folder: see `RunFolder`.
        device: auto, cpu, cuda or cuda:k.
        stop_after: minutes until this session keeps its state and returns, what it needs to begin (reading or
            simulating data) included; a few steps are always taken.
        observers: called with each row of the log, on the first process.
    """
    began = time.monotonic()
    supply = Supply.open(config.data)
    network = create_network(config, supply.currents.count)
    network.check_grid(supply.n)
    check_batch(config, supply)
    processes = Processes.join(config.precision, device)
    run = RunFolder(Path(folder))
    with ExitStack() as stack:
        if processes.first:
            stack.enter_context(run.locked())
            run.begin(config)
            if supply.recipe is not None:
                write_json(run.data, supply.recipe.to_dict())
        processes.barrier()
        stack.enter_context(float32_products(config.precision != "32", same_shapes=True))
        setup = prepare(config, processes, supply, network, run.features())
        try:
            return Loop(config, run, setup, observers).run(began + 60 * stop_after)
        finally:
            setup.examples.close()


class Loop:
    """The steps of a run, from its start or its checkpoint."""

    def __init__(
        self, config: TrainConfig, run: RunFolder, setup: TrainingParts, observers: tuple[Observer, ...]
    ) -> None:
        self.config, self.setup, self.observers = config, setup, observers
        self.processes, self.folder = setup.processes, run
        self.loss, self.tracker = LOSSES[config.loss], setup.tracker
        self.state = State(setup, run, config.select)
        self.state.restore()
        if self.processes.broadcast(self.tracker.step) != self.tracker.step:
            raise InputError(
                f"{run.path}: this process finds another checkpoint here than the first: give a folder on a disk that "
                "all machines see"
            )
        self.loss_sum = torch.zeros((), device=setup.device)
        self.parameters = list(setup.network.parameters())
        if self.processes.first:
            setup.features.save(run.path)
            self.log = Log(run.log, (*COLUMNS, *config.metrics), self.tracker.step)
        self.reported = self.saved = time.monotonic()
        self.reported_step = self.tracker.step

    def run(self, end: float) -> dict[str, Any] | None:
        """Take steps until the run is done or the clock shows `end`."""
        stop = False
        while not (stop or self.tracker.done):
            self.step()
            if self._due(self.config.log_every) or self._due(self.setup.interval) or self.tracker.done:
                row = self.report()
                stop = self.decide(end)
        return self.finish(row) if self.tracker.done else None

    def step(self) -> None:
        """Take one step of the optimisers; nothing here waits for the device."""
        config, setup, k = self.config, self.setup, self.tracker.step
        _reseed(mixed(config.seed, "step", k * self.processes.world + self.processes.rank), setup.device)
        example = setup.examples(k)
        self.lr, beta1 = config.schedule(self.tracker.advance())
        optimiser.adjust(setup.optimisers, self.lr, beta1)
        setup.module.zero_grad(set_to_none=True)
        outputs = self.processes.logits(setup.module, example.features, config.exact_input)
        loss = self.loss(outputs, example.target)
        loss.backward()  # type: ignore[no-untyped-call]
        if config.clip:
            torch.nn.utils.clip_grad_norm_(self.parameters, config.clip)
        for each in setup.optimisers:
            each.step()
        if setup.average is not None:
            setup.average.update(k)
        self.loss_sum += loss.detach()

    def report(self) -> Row:
        """A row of the log: the mean loss since the last row, the speed, and the metrics if validation is due."""
        step, batch, steps = self.tracker.step, self.config.batch, self.tracker.step - self.reported_step
        loss = self._mean_loss(steps)
        row = {
            "step": step,
            "epoch": step / self.setup.epoch,
            "samples": step * batch,
            "progress": self.tracker.progress,
            "lr": self.lr,
            "loss": loss,
            "images_per_second": steps * batch / (time.monotonic() - self.reported),
            "seconds": self.tracker.elapsed,
        }
        if self._due(self.setup.interval) or self.tracker.done:
            metrics = self.setup.validator(self.setup.validated)
            self.state.consider(metrics)
            row |= metrics
        if self.processes.first:
            self.log.write(row)
            for observe in self.observers:
                observe(row)
        self.reported, self.reported_step = time.monotonic(), step
        return row

    def decide(self, end: float) -> bool:
        """Whether to stop. The first process decides by its clock, on the stride and the checkpoint too; all follow."""
        self.tracker.set_stride()
        now = time.monotonic()
        stop = now >= end
        keep = stop or now - self.saved >= self.config.checkpoint_every
        decision = torch.tensor(
            [self.tracker.stride, stop, keep], dtype=torch.float64, device=self.setup.device
        )
        if self.processes.world > 1:
            dist.broadcast(decision, 0)
            self.tracker.stride, stop, keep = decision.tolist()
        if keep and not self.tracker.done:
            if self.processes.first:
                self.state.keep()
            self.saved = time.monotonic()
        return bool(stop)

    def finish(self, row: Row) -> dict[str, Any]:
        """Write the weights, then the result; then remove the checkpoint, which is of no more use."""
        result: dict[str, Any] = {
            "name": self.config.name,
            "network": self.config.network.preset,
            "parameters": sum(parameter.numel() for parameter in self.parameters),
            "steps": self.tracker.step,
            "samples": self.tracker.step * self.config.batch,
            "minutes": self.tracker.elapsed / 60,
            "processes": self.processes.world,
            "device": _device_name(self.setup.device),
            "loss": row["loss"],
            "best": self.state.best,
            "last": {name: row[name] for name in self.config.metrics},
            "made_with": git_state(),
        }
        if self.processes.first:
            self.state.export()
            write_json(self.folder.result, result)
            self.folder.checkpoint.unlink(missing_ok=True)
        self.processes.barrier()
        return result

    def _due(self, every: int) -> bool:
        return self.tracker.step % every == 0

    def _mean_loss(self, steps: int) -> float:
        loss = float(self.processes.sum(self.loss_sum / steps) / self.processes.world)
        self.loss_sum.zero_()
        if not math.isfinite(loss):
            raise InputError(
                f"{self.folder.path}: the loss is {loss} after step {self.tracker.step}: train again in another "
                "folder with a smaller learning rate (schedule lr), clip=1 or precision=32"
            )
        return loss


def _reseed(seed: int, device: torch.device) -> None:
    """Seed the generators that dropout uses; `torch.manual_seed` asks every kind of device there is: 0.2 ms."""
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        torch.cuda.default_generators[device.index or 0].manual_seed(seed)


def _device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
