"""The folder of a run: its configuration, its log and its weights.

config.json          the configuration
data.json            the recipe of the data, where there is one: test samples can be made again from it
features.json        the input of the network (`eitlens.feature.base`), with features.safetensors where it is large
git.json             version, commit, and whether there were changes
log.csv              a row every few steps
best.safetensors     weights of the best validation, with best.json; last.* those of the end
checkpoint.safetensors   the whole state, to go on from
.lock                held by the process that trains, and there only as long
result.json          written last: where it is, the run is finished
"""

import csv
import io
import os
import platform
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from eitlens import __version__
from eitlens.dataset import DataConfig
from eitlens.errors import InputError
from eitlens.feature import Input, read_input
from eitlens.files import disk_errors, make_folder, remove_leftovers, write_atomically, write_json
from eitlens.models import Network, save
from eitlens.train.config import TrainConfig, difference
from eitlens.train.lock import lock_file


class RunFolder:
    """The files of a run."""

    def __init__(self, path: Path) -> None:
        self.path, self.config, self.data = path, path / "config.json", path / "data.json"
        self.checkpoint, self.log = path / "checkpoint.safetensors", path / "log.csv"
        self.result = path / "result.json"

    def begin(self, config: TrainConfig) -> None:
        """Make the folder, or find in it the same run, not finished."""
        make_folder(self.path)
        remove_leftovers(self.path)
        if self.finished(config):
            raise InputError(
                f"{self.path}: this run is finished: score it with `eitlens evaluate {self.path}`, or copy it by "
                "the same command with --export DIR"
            )
        if not self.config.exists():
            write_json(self.path / "git.json", git_state())
            write_json(self.config, config.to_dict())

    def finished(self, config: TrainConfig) -> bool:
        """Whether this run is finished; a folder with another run is refused."""
        if not self.config.exists():
            return False
        other = difference(config, TrainConfig.read(self.config))
        if other is not None:
            raise InputError(f"{self.path}: holds another run ({other}): choose another folder")
        return self.result.exists()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder while this process trains: two would overwrite each other's state.

        Held from before `begin`, and not by one of the run's own files: those are written by renaming, so that
        two processes could each hold a file that had that name.
        """
        with lock_file(self.path / ".lock") as mine:
            if not mine:
                raise InputError(
                    f"{self.path}: another process trains here: wait for it, or choose another folder"
                )
            yield

    def recipe(self) -> DataConfig | None:
        """Read the recipe of the data, if there is one."""
        return DataConfig.read(self.data) if self.data.exists() else None

    def features(self) -> Input | None:
        """Read the input of the network, if it is known yet."""
        return read_input(self.path) if (self.path / "features.json").exists() else None

    def keep(self, network: Network, name: str) -> None:
        """Write weights and their description."""
        save(network, self.path / f"{name}.safetensors")


class Log:
    """A CSV file with a row every few steps; columns without a value stay empty."""

    def __init__(self, path: Path, columns: tuple[str, ...], step: int) -> None:
        """Open the log after `step`: what a killed run wrote beyond its last checkpoint is dropped."""
        self.path, self.columns = path, columns
        rows = [row for row in read_log(path) if float(row.get("step") or "inf") <= step]
        text = io.StringIO()
        writer = csv.DictWriter(text, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
        write_atomically(path, text.getvalue().encode())

    def write(self, row: Mapping[str, float]) -> None:
        """Append a row."""
        with disk_errors(self.path), self.path.open("a", encoding="utf-8", newline="") as stream:
            csv.DictWriter(stream, self.columns).writerow({k: f"{v:.7g}" for k, v in row.items()})


def read_log(path: Path) -> list[dict[str, str]]:
    """Read the rows of a log; none if there is no such file, and no last line that was cut short."""
    if not path.exists():
        return []
    with disk_errors(path):
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    whole = [line for line in lines if line.endswith("\n")]
    return [row for row in csv.DictReader(whole) if None not in row and None not in row.values()]


_GIT_SECONDS = 10  # a run waits no longer for a repository on a slow disk


def git_state() -> dict[str, Any]:
    """The version of eitlens and torch, and the commit where eitlens runs from a repository.

    `changed` is whether the package differs from that commit; new results beside it do not count. A machine that
    has an export of a commit (`git archive`) is told which by the variable EITLENS_COMMIT.
    """
    home, exported = Path(__file__).parents[1], os.environ.get("EITLENS_COMMIT")
    questions = (("rev-parse", "HEAD"), ("status", "--porcelain", "--", "."))
    commit, changes = (exported, "") if exported else (_git(home, *words) for words in questions)
    return {
        "eitlens": __version__,
        "torch": str(torch.__version__),
        "python": platform.python_version(),
        "commit": commit or None,
        "changed": bool(changes) if commit else None,
    }


def _git(home: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(["git", *words], cwd=home, capture_output=True, text=True, timeout=_GIT_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
