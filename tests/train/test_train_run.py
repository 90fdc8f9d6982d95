"""What a run leaves behind, and what it makes of bad input."""

import errno
import json
import math
import os
import pickle
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file, save_file

from eitlens.dataset import Dataset, generate
from eitlens.device import float32_products
from eitlens.errors import InputError
from eitlens.evaluate.score import score
from eitlens.feed import Noise
from eitlens.files import write_json
from eitlens.models.layers import exact_conv
from eitlens.models.trained import Trained, save_compact
from eitlens.train import NetworkConfig, SourceConfig, loggers, train
from eitlens.train import folder as folders
from eitlens.train.checkpoint import Progress, read, write
from eitlens.train.folder import read_log
from eitlens.train.lock import lock_file
from eitlens.train.processes import Processes
from eitlens.train.progress import ProgressTracker
from eitlens.train.setup import prepare
from eitlens.train.state import State
from eitlens.train.supply import Supply
from eitlens.train.validation import equal_batch


@pytest.fixture(scope="module")
def folder(data, tmp_path_factory):
    """A data set on disk; not to be changed."""
    path = tmp_path_factory.mktemp("set")
    generate(data, path, device="cpu")
    return path


def test_the_folder_of_a_run(run, finished):
    names = {file.name for file in finished.iterdir()}
    weights = {f"{name}.{kind}" for name in ("best", "last") for kind in ("json", "safetensors")}
    plain = {"config.json", "data.json", "features.json", "git.json", "log.csv", "result.json"}
    assert names == weights | plain
    result = json.loads((finished / "result.json").read_text())
    rows = read_log(finished / "log.csv")
    assert result["steps"] == 12 == int(rows[-1]["step"])
    validated = [float(row["paper_l2"]) for row in rows if row["paper_l2"]]
    assert len(validated) == 3
    assert result["best"]["paper_l2"] == pytest.approx(min(validated), rel=1e-6)
    assert float(rows[-1]["loss"]) < float(rows[0]["loss"])


def test_trained_weights_score_as_in_validation(run, finished, data):
    """The weights with their features, read from disk, give the metrics of the result to the digit."""
    from eitlens.evaluate import metrics
    from eitlens.feed import Pipeline

    trained = Trained.load(finished, "last")
    samples = Supply.open(run.data).split("validation", torch.device("cpu"))
    example = Pipeline(trained.features, run.noise)(samples)
    logits = trained(example.difference)[:, None]
    result = json.loads((finished / "result.json").read_text())
    found = float(metrics.cross_entropy(logits, example.target).mean())
    assert found == pytest.approx(result["last"]["cross_entropy"], rel=1e-5)


def test_a_data_set_on_disk_and_the_first_of_its_currents(run, folder, tmp_path):
    config = replace(run, data=SourceConfig(folder=str(folder), currents=1), samples=0, epochs=1.0)
    result = train(replace(config, noise=Noise((0.0, 0.1))), tmp_path, device="cpu")
    assert result["steps"] == 6
    # Validations, every four steps, are no epochs.
    assert float(read_log(tmp_path / "log.csv")[-1]["epoch"]) == 1
    assert Trained.load(tmp_path).features.currents.count == 1
    # A network of one current is measured on a test set of two.
    found = score(Trained.load(tmp_path), Dataset.open(folder).split("test"), 0.05)
    assert found.samples == 6
    assert 0 <= found.metrics["hausdorff"].low <= found.metrics["hausdorff"].high


def test_training_and_validation_are_compiled_once_each(run, tmp_path, monkeypatch):
    """Validation, of another size than the batch, leaves the program of the training step as it is."""
    programs, compiled = [], torch.compile

    def trace(mode, graph, inputs):
        batch = next(value.shape[0] for value in inputs if value.shape[-1] == 33)
        programs.append((mode, torch.is_grad_enabled(), batch))
        return graph.forward

    def quick(network, mode="default", **settings):
        return compiled(network, backend=partial(trace, mode), **settings)

    small = NetworkConfig("unet", {"width": 8, "resolution": 32, "levels": 2})
    config = replace(run, network=small, samples=16, validate_every=1)
    expected = train(config, tmp_path / "plain", device="cpu")
    torch.compiler.reset()
    monkeypatch.setattr(torch, "compile", quick)
    result = train(replace(config, compile="reduce-overhead"), tmp_path / "compiled", device="cpu")
    assert programs == [("reduce-overhead", True, 4), ("default", False, 6)]
    assert result["last"] == pytest.approx(expected["last"], rel=1e-5)
    torch.compiler.reset()


def test_validation_in_batches_of_one_size():
    assert [equal_batch(count) for count in (2160, 1024, 100, 131, 6)] == [120, 128, 100, 128, 128]


def test_weights_of_half_the_size(finished, tmp_path):
    save_compact(finished, "best", tmp_path)
    sizes = [(path / "best.safetensors").stat().st_size for path in (tmp_path, finished)]
    assert sizes[0] < 0.6 * sizes[1]
    data = 0.1 * torch.randn(2, 2, 128, dtype=torch.float64)
    a, b = (Trained.load(path)(data) for path in (tmp_path, finished))
    assert float((a - b).abs().max()) < 0.02 * float(b.abs().max())


def test_a_malicious_checkpoint_runs_no_code(run, tmp_path):
    class Evil:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "harmed"),))

    train(run, tmp_path / "run", device="cpu", stop_after=0)
    for name in ("checkpoint", "best", "last"):
        (tmp_path / "run" / f"{name}.safetensors").write_bytes(pickle.dumps(Evil()))
    with pytest.raises(InputError, match=r"checkpoint.safetensors: not a whole checkpoint"):
        train(run, tmp_path / "run", device="cpu")
    with pytest.raises(InputError, match=r"best.safetensors: not a whole"):
        Trained.load(tmp_path / "run")
    assert not (tmp_path / "harmed").exists()


def test_checkpoints_that_do_not_belong(run, tmp_path):
    path = tmp_path / "run" / "checkpoint.safetensors"
    train(run, tmp_path / "run", device="cpu", stop_after=0)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="not a whole checkpoint"):
        train(run, tmp_path / "run", device="cpu")
    write(path, Progress(2, 0.1, 0.1, 1.0), {"network": {"other": torch.zeros(3)}})
    with pytest.raises(InputError, match=r"checkpoint.safetensors: the checkpoint of another network"):
        train(run, tmp_path / "run", device="cpu")
    save_file({"a": torch.zeros(1)}, path)
    with pytest.raises(InputError, match=r"not a checkpoint.*delete"):
        train(run, tmp_path / "run", device="cpu")


def test_a_checkpoint_of_another_version(tmp_path):
    write(tmp_path / "c", Progress(2, 0.1, 0.1, 1.0, format=99), {})
    with pytest.raises(InputError, match=r"format 99.*update"):
        read(tmp_path / "c")


def test_nan_in_the_data_is_named(run, folder, tmp_path):
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    shard = sorted(tmp_path.glob("*.safetensors"))[0]
    from safetensors import safe_open

    with safe_open(shard, "pt") as stream:
        header = stream.metadata()
    tensors = load_file(shard)
    tensors["difference"][0, 0, 0] = float("nan")
    save_file(tensors, shard, header)
    config = replace(run, data=SourceConfig(folder=str(tmp_path)))
    with pytest.raises(InputError, match=str(shard.name)):
        train(config, tmp_path / "run", device="cpu")
    assert not (tmp_path / "run" / "result.json").exists()


def test_a_loss_that_explodes_says_what_to_do(run, tmp_path):
    config = replace(run, schedule=replace(run.schedule, lr=1e30, start=1.0), average=0.0, log_every=1)
    with pytest.raises(InputError, match="smaller learning rate"):
        train(config, tmp_path / "run", device="cpu")


def test_a_full_disk(run, tmp_path, monkeypatch):
    train(run, tmp_path / "run", device="cpu", stop_after=0)
    before = (tmp_path / "run" / "checkpoint.safetensors").read_bytes()

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("eitlens.files.os.fsync", full)
        with pytest.raises(InputError, match="No space left on device: free some"):
            train(run, tmp_path / "run", device="cpu")
    assert (tmp_path / "run" / "checkpoint.safetensors").read_bytes() == before
    assert train(run, tmp_path / "run", device="cpu") is not None


def test_two_processes_do_not_train_in_one_folder(run, tmp_path):
    (tmp_path / "run").mkdir()
    write_json(tmp_path / "run/config.json", run.to_dict())
    before = (tmp_path / "run/config.json").read_bytes()
    with lock_file(tmp_path / "run/.lock"), pytest.raises(InputError, match="another process trains here"):
        train(run, tmp_path / "run", "cpu")
    assert (tmp_path / "run/config.json").read_bytes() == before
    assert [file.name for file in (tmp_path / "run").iterdir()] == ["config.json"]


def test_processes_that_find_different_checkpoints_do_not_train_together(run, tmp_path, monkeypatch):
    def first(self, item):
        return item + 2 if isinstance(item, int) else item  # its step

    monkeypatch.setattr(Processes, "broadcast", first)
    with pytest.raises(InputError, match="another checkpoint"):
        train(run, tmp_path / "run", "cpu")


def test_of_two_processes_started_together_in_a_new_folder_one_trains(run, tmp_path, monkeypatch):
    """The second comes after the first has found no configuration there, and before it has written its own."""
    state, refused = folders.git_state, []

    def late():
        with pytest.raises(InputError, match="another process trains here") as found:
            train(run, tmp_path / "run", "cpu")
        refused.append(found)
        return state()

    monkeypatch.setattr(folders, "git_state", late)
    assert train(run, tmp_path / "run", "cpu", stop_after=0) is None
    assert len(refused) == 1


def test_a_lock_leaves_nothing_behind_and_nothing_left_behind_is_a_lock(tmp_path):
    path = tmp_path / "new" / "work"
    with lock_file(path) as mine, lock_file(path) as other:
        assert (mine, other) == (True, False)
        assert path.exists()
    assert not path.exists()
    path.touch()  # by a process that was killed, or copied with its folder
    with lock_file(path) as mine:
        assert mine


@pytest.mark.skipif(os.name != "posix", reason="a locked file can be removed")
@pytest.mark.parametrize("wait", [True, False])
def test_a_lock_on_a_file_that_its_holder_has_removed_is_no_lock(wait, tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    path, lock = tmp_path / "work", fcntl.flock

    def late(*given):
        """The holder ends after the file was opened and before it is locked."""
        monkeypatch.setattr(fcntl, "flock", lock)
        path.unlink()
        return lock(*given)

    monkeypatch.setattr(fcntl, "flock", late)
    with lock_file(path, wait) as mine, lock_file(path) as other:
        assert (mine, other) == (wait, not wait)  # whoever waits tries again


@pytest.mark.parametrize(("select", "better"), [("paper_l2", 0.1), ("soft_dice", 0.9)])
def test_a_validation_that_is_no_number_is_best_only_as_long_as_it_is_alone(select, better):
    weight = torch.zeros(1)
    setup = SimpleNamespace(
        tracker=ProgressTracker(9, 0), kept=SimpleNamespace(state_dict=lambda: {"w": weight})
    )
    state = State(setup, None, select)
    kept = []
    for value in (math.nan, 0.5, math.nan, better, 0.5):
        weight += 1
        state.consider({select: value})
        kept.append(float(state._weights["w"]))
    assert kept == [1, 2, 2, 4, 4]
    assert state.best[select] == better


@pytest.mark.parametrize("tf32", [True, False])
def test_logits_are_computed_in_float32_whatever_was_set(finished, tf32):
    """A run in bfloat16 sets TF32 for products; for convolutions it is what PyTorch begins with."""
    trained, seen = Trained.load(finished), []
    trained.network.register_forward_pre_hook(
        lambda *_: seen.append((torch.backends.cudnn.allow_tf32, torch.get_float32_matmul_precision()))
    )
    with float32_products(tf32, same_shapes=True):
        before = torch.backends.cudnn.allow_tf32, torch.get_float32_matmul_precision()
        trained(torch.ones(1, 2, 128, dtype=torch.float64))
        assert (torch.backends.cudnn.allow_tf32, torch.get_float32_matmul_precision()) == before
    assert before == (tf32, "high" if tf32 else "highest")
    assert seen == [(False, "highest")]


def test_runs_of_one_name_are_not_one_on_the_web(run, tmp_path, monkeypatch):
    given = []

    def init(**options):
        given.append(options)
        return SimpleNamespace(log=lambda row, step: None)

    monkeypatch.setattr(loggers, "installed", lambda *_: SimpleNamespace(init=init))
    monkeypatch.chdir(tmp_path)
    for folder in (tmp_path / "a/uit", tmp_path / "b/uit", Path("a/uit")):
        loggers.create_logger("wandb", run, folder)
    first, second, resumed = (options["id"] for options in given)
    assert first == resumed != second
    assert {options["name"] for options in given} == {"uit"}


def test_no_data(run, tmp_path):
    with pytest.raises(InputError, match="give a data set"):
        train(replace(run, data=SourceConfig()), tmp_path / "run", device="cpu")
    assert not (tmp_path / "run").exists()


def test_a_batch_of_more_than_there_is_is_refused_before_any_of_it_is_made(
    run, data, folder, tmp_path, monkeypatch
):
    monkeypatch.setattr("eitlens.train.loop.prepare", lambda *_: pytest.fail("data were read or simulated"))
    for source, length, most in (
        (SourceConfig(folder=str(folder)), {"samples": 0, "epochs": 1.0}, 24),
        (SourceConfig(folder=str(folder), train=20), {"samples": 0, "epochs": 1.0}, 20),
        (SourceConfig(stream=data, bank=500), {"samples": 100_000}, 500),
        (SourceConfig(stream=data), {"samples": 48}, 48),
    ):
        config = replace(run, data=source, batch=100_000, **length)
        with pytest.raises(
            InputError, match=f"batch of 100000 from {most} training samples: choose a smaller"
        ):
            train(config, tmp_path / "run", device="cpu")
    assert not (tmp_path / "run").exists()


def test_more_currents_than_there_are(run, data, tmp_path):
    config = replace(run, data=SourceConfig(stream=data, currents=3))
    with pytest.raises(InputError, match=r"3 currents.*2"):
        train(config, tmp_path / "run", device="cpu")


def test_the_clock_fits_a_run_into_its_time(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    tracker = ProgressTracker(None, 100.0)
    steps = 0
    while not tracker.done:
        # Compilation takes 10 s, a step 0.1 s, and 0.2 s in the second half: the machine is shared.
        now[0] += 10.0 if tracker.step == 0 else 0.1 if now[0] < 50 else 0.2
        tracker.advance()
        steps += 1
        if tracker.step % 10 == 0:
            tracker.set_stride()
    assert now[0] == pytest.approx(100, abs=3)
    assert steps == pytest.approx(400 + 250, abs=30)


def test_what_a_session_needs_to_begin_is_part_of_its_time(run, tmp_path, monkeypatch):
    late, clock = [0.0], time.monotonic

    def slow(*given):
        late[0] += 600
        return prepare(*given)

    monkeypatch.setattr("time.monotonic", lambda: clock() + late[0])
    monkeypatch.setattr("eitlens.train.loop.prepare", slow)
    assert train(run, tmp_path / "run", device="cpu", stop_after=10) is None
    assert (tmp_path / "run" / "checkpoint.safetensors").exists()


def test_minutes_instead_of_samples(run, tmp_path):
    config = replace(run, samples=0, minutes=0.05, log_every=1)
    result = train(config, tmp_path / "run", device="cpu")
    assert 0.03 < result["minutes"] < 0.2
    assert float(read_log(tmp_path / "run" / "log.csv")[-1]["progress"]) == 1


def test_overfitting_eight_samples(run, data, tmp_path):
    """A network that can learn anything learns eight samples by heart."""
    config = replace(
        run,
        network=NetworkConfig("uit-small", {"width": 16, "resolution": 32}),
        data=SourceConfig(stream=data, block=8, repeat=10_000),
        noise=Noise(),
        schedule=replace(run.schedule, lr=3e-3),
        batch=8,
        samples=8 * 90,
        average=0.0,
        log_every=20,
        validate_every=90,
        checkpoint_every=1e9,
    )
    train(config, tmp_path / "run", device="cpu")
    trained = Trained.load(tmp_path / "run", "last")
    from eitlens.feed import Stream, StreamConfig

    assert config.data.stream is not None
    seen = Stream(StreamConfig(config.data.stream, config.seed, 8, 8), torch.device("cpu"))(0).samples
    assert score(trained, seen).metrics["hard_dice"].mean > 0.97


def test_a_data_set_without_training_samples_leaves_no_folder(run, data, tmp_path):
    generate(replace(data, train=0), tmp_path / "data")
    config = replace(run, data=SourceConfig(folder=str(tmp_path / "data")))
    with pytest.raises(InputError, match="its train split is empty"):
        train(config, tmp_path / "run", device="cpu")
    assert not (tmp_path / "run").exists()


def test_training_in_bfloat16_rounds_the_features_and_scoring_does_not():
    """As Fabric did when the networks of Table 1 were trained: their first layers saw 8 bits then."""
    seen, features = [], torch.full((1, 3, 4, 4), 1 + 2.0**-10)

    class Look(torch.nn.Conv2d):
        def forward(self, x):
            seen.append(x)
            return exact_conv(self, x)

    look = Look(3, 1, 1)
    logits = Processes(precision="bf16").logits(look, features)
    with Processes(precision="bf16").autocast():
        look(features)
    Processes(precision="32").logits(look, features)
    trained, scored, full = seen
    assert logits.dtype == torch.float32
    assert trained.dtype == torch.bfloat16
    assert trained.unique().tolist() == [1.0]
    assert torch.equal(scored, features)
    assert torch.equal(full, features)


def test_an_export_of_a_commit_is_told_which(monkeypatch):
    monkeypatch.setenv("EITLENS_COMMIT", "a95bc4d")
    made = folders.git_state()
    assert (made["commit"], made["changed"]) == ("a95bc4d", False)
