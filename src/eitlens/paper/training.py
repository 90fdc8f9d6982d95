"""Filling the cells of Table 1: data, training, scores and what is kept, cell by cell, each resumable.

A cell is trained in its own folder under `runs` and is finished when its result.json lies in the table. Stopped
or killed, the same call goes on: with the cell that was being trained, then with those that are missing. Several
processes with the same folders share the cells: each trains what no other is training, so that a large GPU has
something to do while one of them compiles, reads or scores.
"""

import json
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import torch

from eitlens.checks import choose
from eitlens.dataset import DataConfig, Dataset, Samples, generate
from eitlens.dataset import preset as data_preset
from eitlens.device import pick_device
from eitlens.evaluate import evaluation
from eitlens.evaluate.examples import make_examples
from eitlens.evaluate.score import score
from eitlens.feed import Noise
from eitlens.files import copy_files, make_folder, write_json
from eitlens.models.registry import NETWORKS
from eitlens.models.trained import Trained, save_compact
from eitlens.paper.cells import SEED, SEEDS_FOLDER, TABLE1, VARIANTS_FOLDER, Cell
from eitlens.paper.published import LEVELS
from eitlens.paper.variants import PLAIN, VARIANTS
from eitlens.train import Observer, train
from eitlens.train.config import Compile, NetworkConfig, Precision, SourceConfig, TrainConfig
from eitlens.train.folder import RunFolder
from eitlens.train.lock import lock_file
from eitlens.train.presets import preset

Outcome = Literal["finished", "stopped", "failed"]
Tell = Callable[[Cell, Outcome, str], None]
"""Called with each cell, its outcome, and the reason where it failed."""
RESERVE = 1.0
"""Minutes of a budget that are kept for scoring, which takes less on a GPU."""


@dataclass(frozen=True)
class Plan:
    """The plan for training cells: the recipe, the machine and the folders.

    Attributes:
        results: folder of results; cells go to table1, those of a variant to variants/NAME. Those of another seed
            go to the same folders under seeds/SEED.
        runs: folder of the data set and of the runs, with their weights and checkpoints.
        variant: a change of the recipe.
        seed: of the training; the data are the same.
        device, batch, precision, compile: of the training.
        data, epochs: the data set and the length, the paper's.
        keep: folder for 8-bit weights of finished cells; none are kept when left out.
    """

    results: Path
    runs: Path
    variant: str = PLAIN
    seed: int = SEED
    device: str = "auto"
    batch: int = 32
    precision: Precision = "bf16"
    compile: Compile = "reduce-overhead"
    data: DataConfig = field(default_factory=lambda: data_preset("paper"))
    epochs: float = 50.0
    keep: Path | None = None

    def __post_init__(self) -> None:
        choose("variant", self.variant, tuple(VARIANTS))

    @property
    def table(self) -> Path:
        """The folder of the results."""
        home = self.results / self.branch
        return home / (TABLE1 if self.variant == PLAIN else f"{VARIANTS_FOLDER}/{self.variant}")

    @property
    def branch(self) -> Path:
        """The folder of a seed below that of the recipe's own."""
        return Path() if self.seed == SEED else Path(SEEDS_FOLDER, str(self.seed))

    @property
    def data_folder(self) -> Path:
        """The folder of the data set."""
        return self.runs / "data" / self.data.name

    def run(self, cell: Cell) -> Path:
        """The folder in which a cell is trained."""
        return cell.folder(self.runs / self.branch / self.variant)

    def lock(self, cell: Cell) -> Path:
        """The lock file of the process that trains the cell."""
        run = self.run(cell)
        return run.with_name(f".{run.name}.lock")

    def recipe(self, cell: Cell) -> TrainConfig:
        """The configuration of a cell's training."""
        currents = NETWORKS[cell.preset].config.currents
        config = replace(
            preset("paper"),
            name=str(cell),
            network=NetworkConfig(cell.preset),
            data=SourceConfig(folder=str(self.data_folder), currents=currents),
            noise=Noise((cell.tau,)),
            epochs=self.epochs,
            batch=self.batch,
            precision=self.precision,
            compile=self.compile,
            log_every=50,
            seed=self.seed,
        )
        return VARIANTS[self.variant](config)


def missing(plan: Plan, cells: list[Cell]) -> list[Cell]:
    """The cells that are not finished, in the same order."""
    return [cell for cell in cells if not (cell.folder(plan.table) / "result.json").exists()]


def fill(
    plan: Plan,
    cells: list[Cell],
    minutes: float = float("inf"),
    observers: Callable[[Cell], tuple[Observer, ...]] = lambda cell: (),
    tell: Tell = lambda cell, outcome, why: None,
) -> dict[Cell, Outcome]:
    """Train the cells that are missing, until all are there or the time is over.

    A cell that cannot be trained (a loss that is not a number, too little memory) does not stop the others.
    """
    end, outcomes = time.monotonic() + 60 * minutes, dict[Cell, Outcome]()
    for cell in missing(plan, cells):
        left = (end - time.monotonic()) / 60 - RESERVE
        if left <= 0:
            break
        with lock_file(plan.lock(cell)) as mine:
            if not (mine and missing(plan, [cell])):
                continue
            outcomes[cell], why = _attempt(plan, cell, left, observers(cell))
        tell(cell, outcomes[cell], why)
        torch.compiler.reset()
        if outcomes[cell] == "stopped":
            break
    return outcomes


def _attempt(plan: Plan, cell: Cell, minutes: float, observers: tuple[Observer, ...]) -> tuple[Outcome, str]:
    """Train a cell; returns its outcome, and the reason if it failed."""
    try:
        return ("finished" if run_cell(plan, cell, minutes, observers) else "stopped"), ""
    except (ValueError, RuntimeError) as error:
        _forget(RunFolder(plan.run(cell)))
        return "failed", (str(error) or type(error).__name__).splitlines()[0]


def run_cell(plan: Plan, cell: Cell, minutes: float, observers: tuple[Observer, ...] = ()) -> bool:
    """Train a cell, or go on with it, and bring its results home; whether it is finished."""
    end = time.monotonic() + 60 * minutes
    with lock_file(plan.data_folder.with_name(f".{plan.data_folder.name}.lock"), wait=True):
        generate(plan.data, plan.data_folder, device=plan.device)
    run = RunFolder(plan.run(cell))
    if not run.result.exists():
        left = (end - time.monotonic()) / 60
        if train(plan.recipe(cell), run.path, plan.device, left, observers) is None:
            return False
    device = pick_device(plan.device)
    trained = Trained.load(run.path, "best", device)
    samples = Dataset.open(plan.data_folder).split("test", device)
    _score(trained, samples, cell, run.path, plan.data)
    make_examples(trained, samples, cell.tau).write(run.path / "examples.npz")
    _bring_home(run.path, cell.folder(plan.table), plan.data_folder.relative_to(plan.runs))
    if plan.keep is not None:
        save_compact(run.path, "best", cell.folder(plan.keep / plan.branch / plan.variant))
    return True


def _forget(run: RunFolder) -> None:
    """Remove a run that failed before its first checkpoint, so that it can be tried with other options."""
    if not (run.checkpoint.exists() or run.result.exists()):
        shutil.rmtree(run.path, ignore_errors=True)


def _score(trained: Trained, samples: Samples, cell: Cell, run: Path, data: DataConfig) -> None:
    """Write evaluation.json: scores at the level of the training and at the paper's levels."""
    levels, count = dict.fromkeys((cell.tau, *LEVELS)), trained.currents.count
    subject = {"weights": trained.digest, "data": data.digest}
    rows = [evaluation.row(score(trained, samples, tau), data.name, count, tau, subject) for tau in levels]
    evaluation.write(run / "evaluation.json", str(cell), rows)


def _bring_home(run: Path, target: Path, data: Path) -> None:
    """Copy all but the weights and the local path of the data; the result comes last, as the mark of a whole cell."""
    make_folder(target)
    config = json.loads((run / "config.json").read_text(encoding="utf-8"))
    config["data"]["folder"] = data.as_posix()
    write_json(target / "config.json", config)
    names = ("data.json", "features.json", "evaluation.json", "log.csv", "examples.npz", "git.json")
    copy_files((run / name for name in (*names, "result.json")), target)
