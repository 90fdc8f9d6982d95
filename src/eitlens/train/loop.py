"""The training loop. Lightning's Fabric places it on devices and processes; the loop itself is ours.

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
from torch import Tensor
from torch import distributed as dist

from eitlens.errors import InputError
from eitlens.evaluate.metrics import METRICS
from eitlens.files import write_json
from eitlens.random import mixed
from eitlens.train import optimiser
from eitlens.train.config import TrainConfig
from eitlens.train.fabric import create_fabric, float32_products
from eitlens.train.folder import Log, RunFolder, git_state
from eitlens.train.loggers import Observer, Row
from eitlens.train.losses import LOSSES
from eitlens.train.setup import Setup, check_batch, create_network, prepare
from eitlens.train.sources import Supply
from eitlens.train.state import State

COLUMNS = ("step", "epoch", "samples", "progress", "lr", "loss", "images_per_second", "seconds", *METRICS)


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
    fabric = create_fabric(config.precision, device)
    run = RunFolder(Path(folder))
    with ExitStack() as stack:
        if fabric.global_rank == 0:
            stack.enter_context(run.alone())
            run.begin(config)
            run.keep_recipe(supply.recipe)
        fabric.barrier()
        stack.enter_context(float32_products(config.precision))
        setup = prepare(config, fabric, supply, network, run.features())
        try:
            return Loop(config, run, setup, observers).run(began + 60 * stop_after)
        finally:
            setup.examples.close()


class Loop:
    """The steps of a run, from wherever it was."""

    def __init__(
        self, config: TrainConfig, run: RunFolder, setup: Setup, observers: tuple[Observer, ...]
    ) -> None:
        self.config, self.setup, self.observers = config, setup, observers
        self.first = setup.part.rank == 0
        self.folder = run
        self.loss, self.clock = LOSSES[config.loss], setup.clock
        self.state = State(setup, run, config.select)
        self.state.restore()
        self.total = torch.zeros((), device=setup.device)
        self.parameters = list(setup.network.parameters())
        if self.first:
            run.keep_features(setup.features)
            self.log = Log(run.log, COLUMNS, self.clock.step)
        self.mark = self.saved = time.monotonic()
        self.marked = self.clock.step

    def run(self, end: float) -> dict[str, Any] | None:
        """Steps until the run is done or the clock shows `end`."""
        stop = False
        while not (stop or self.clock.done):
            self.step()
            if self._due(self.config.log_every) or self._due(self.setup.interval) or self.clock.done:
                row = self.report()
                stop = self.agree(end)
        return self.finish(row) if self.clock.done else None

    def step(self) -> None:
        """One step of the optimiser; nothing here waits for the device."""
        config, setup, k = self.config, self.setup, self.clock.step
        _reseed(mixed(config.seed, "step", k * setup.part.world + setup.part.rank), setup.device)
        example = setup.examples(k)
        self.lr, beta1 = config.schedule(self.clock.tick())
        optimiser.adjust(setup.optimiser, self.lr, beta1)
        setup.optimiser.zero_grad(set_to_none=True)
        loss = self.loss(setup.module(example.features), example.target)
        setup.fabric.backward(loss)
        if config.clip:
            torch.nn.utils.clip_grad_norm_(self.parameters, config.clip)
        setup.optimiser.step()
        if setup.average is not None:
            setup.average.update(k)
        self.total += loss.detach()

    def report(self) -> Row:
        """A row of the log: the mean loss since the last, the speed, and what validation says if it is due."""
        step, batch, steps = self.clock.step, self.config.batch, self.clock.step - self.marked
        loss = self._mean_loss(steps)
        row = {
            "step": step,
            "epoch": step / self.setup.epoch,
            "samples": step * batch,
            "progress": self.clock.progress,
            "lr": self.lr,
            "loss": loss,
            "images_per_second": steps * batch / (time.monotonic() - self.mark),
            "seconds": self.clock.elapsed,
        }
        if self._due(self.setup.interval) or self.clock.done:
            row |= self.validate()
        if self.first:
            self.log.write(row)
            for observe in self.observers:
                observe(row)
        self.mark, self.marked = time.monotonic(), step
        return row

    def validate(self) -> Row:
        """Metrics of the network that is kept, which it is if they are the best yet."""
        metrics = self.setup.validator(self.setup.validated, self.setup.fabric.autocast())
        self.state.consider(metrics)
        return metrics

    def agree(self, end: float) -> bool:
        """What the first process decides by its clock, the others follow: the stride, keeping, stopping."""
        self.clock.retime()
        now = time.monotonic()
        stop = now >= end
        keep = stop or now - self.saved >= self.config.checkpoint_every
        decision = torch.tensor(
            [self.clock.stride, stop, keep], dtype=torch.float64, device=self.total.device
        )
        if self.setup.part.world > 1:
            dist.broadcast(decision, 0)
            self.clock.stride, stop, keep = decision.tolist()
        if keep and not self.clock.done:
            if self.first:
                self.state.keep()
            self.saved = time.monotonic()
        return bool(stop)

    def finish(self, row: Row) -> dict[str, Any]:
        """Write the weights, then the result; then the checkpoint is of no more use."""
        result: dict[str, Any] = {
            "name": self.config.name,
            "network": self.config.network.preset,
            "parameters": sum(parameter.numel() for parameter in self.parameters),
            "steps": self.clock.step,
            "samples": self.clock.step * self.config.batch,
            "minutes": self.clock.elapsed / 60,
            "processes": self.setup.part.world,
            "device": _device_name(self.setup.device),
            "loss": row["loss"],
            "best": self.state.best,
            "last": {name: row[name] for name in METRICS},
            "made_with": git_state(),
        }
        if self.first:
            self.state.export()
            write_json(self.folder.result, result)
            self.folder.checkpoint.unlink(missing_ok=True)
        self.setup.fabric.barrier()
        return result

    def _due(self, every: int) -> bool:
        return self.clock.step % every == 0

    def _mean_loss(self, steps: int) -> float:
        total: Tensor = self.total / steps
        if self.setup.part.world > 1:
            dist.all_reduce(total)
            total = total / self.setup.part.world
        self.total.zero_()
        loss = float(total)
        if not math.isfinite(loss):
            raise InputError(
                f"{self.folder.path}: the loss is {loss} after step {self.clock.step}: train again in another "
                "folder with a smaller learning rate (schedule lr), clip=1 or precision=32"
            )
        return loss


def _reseed(seed: int, device: torch.device) -> None:
    """Set the generators dropout uses; `torch.manual_seed` asks every kind of device there is: 0.2 ms."""
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        torch.cuda.default_generators[device.index or 0].manual_seed(seed)


def _device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
