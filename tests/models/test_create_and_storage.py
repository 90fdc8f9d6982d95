import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from eitlens.errors import InputError
from eitlens.models import Network, create, load, save, storage


def small() -> Network:
    return create("uit", width=8, resolution=32)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return save(small(), tmp_path / "net.v1")


def test_unknown_names_and_settings_are_errors_that_list_the_known() -> None:
    with pytest.raises(InputError, match=r"'uti'.*uit, uit-l3.*mwo"):
        create("uti")
    with pytest.raises(InputError, match=r"'widht'.*width"):
        create("uit", widht=3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"width": 0}, "width must be at least 1"),
        ({"width": 2.5}, "width must be of type int"),
        ({"gated": 1}, "gated must be of type bool"),
        ({"evaluation": "fast"}, "evaluation must be one of 'explicit', 'reassociated', 'softmax'"),
        ({"currents": True}, "currents must be of type int"),
        ({"resolution": 100}, "resolution must be a multiple of 8, as it is halved 3 times, got 100"),
        ({"heads": 3}, "16 width must be a multiple of 3, the heads, got 1024"),
        ({"sinusoidal": True, "width": 6}, "width must be a multiple of 4"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        create("uit", **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("unet", {"levels": 5, "resolution": 40}, "resolution must be a multiple of 16"),
        ("hybrid-ut", {"resolution": 40}, "resolution must be a multiple of 16"),
        (
            "mwo",
            {"resolution": 96},
            "resolution must be a power of two, as it is halved down to one cell, got 96",
        ),
        ("flagship", {"heads": 3}, "width must be a multiple of 3, the heads, got 320"),
    ],
)
def test_settings_that_do_not_fit_together(name: str, settings: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        create(name, **settings)


@pytest.mark.parametrize("shape", [(1, 9, 64, 64), (3, 64, 64), (1, 3, 64, 65), (1, 3, 31, 31)])
def test_features_of_the_wrong_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="expected"):
        small()(torch.zeros(shape))


def test_a_network_keeps_its_settings_and_a_dotted_name(saved: Path) -> None:
    assert saved.name == "net.v1.safetensors"
    network = load(saved.with_suffix(".json"))
    assert (network.config.width, network.preset, network.training) == (8, "uit", False)
    assert sorted(path.name for path in saved.parent.iterdir()) == ["net.v1.json", "net.v1.safetensors"]


def read(path: Path) -> dict[str, torch.Tensor]:
    """Copies, not views of the file that is about to be written over."""
    return {name: tensor.clone() for name, tensor in load_file(path).items()}


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def shorten(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5])


def pickled(path: Path) -> None:
    torch.save({"head.bias": torch.zeros(1)}, path)


def drop(path: Path) -> None:
    tensors = read(path)
    tensors.pop("head.bias")
    save_file(tensors, path)


def reshape(path: Path) -> None:
    tensors = read(path)
    save_file(tensors | {"head.bias": torch.zeros(2)}, path)


def remove(path: Path) -> None:
    path.unlink()


def describe(**changes: object) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        description = path.with_suffix(".json")
        description.write_text(json.dumps(json.loads(description.read_text()) | changes))

    return change


def garble(path: Path) -> None:
    path.with_suffix(".json").write_text("{")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (truncate, "not a whole safetensors file"),
        (shorten, "not a whole safetensors file"),
        (pickled, "not a whole safetensors file"),
        (drop, "'head.bias' is missing"),
        (reshape, r"head.bias is \(2,\) float32, expected \(1,\) float32"),
        (remove, "no such file"),
        (describe(settings={"width": 16, "resolution": 32}), r"is \(8, .*expected \(16, "),
        (describe(preset="uti"), "no network is called 'uti'"),
        (describe(format=2), "format 2, expected 1"),
        (describe(more=1), "expected the keys format, preset, settings"),
        (describe(settings={"depth": 3}), "no setting 'depth'"),
        (garble, "not a JSON file"),
    ],
)
def test_damaged_files_get_one_clear_line(saved: Path, damage: Callable[[Path], None], message: str) -> None:
    damage(saved)
    with pytest.raises(InputError, match=message) as raised:
        load(saved)
    assert "\n" not in str(raised.value)


def test_renamed_parameters_still_load(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = load(saved).state_dict()
    old = {
        ("output." + key[5:] if key.startswith("head.") else key): value for key, value in read(saved).items()
    }
    save_file(old, saved)
    with pytest.raises(InputError, match=r"'head\.bias' is missing"):
        load(saved)
    entries = (("UNet", "down.", "up."), ("UIT", "output.", "head."))
    monkeypatch.setattr(storage, "RENAMED", entries)
    assert all(torch.equal(value, expected[key]) for key, value in load(saved).state_dict().items())


def test_autocast_to_bfloat16_leaves_float32_logits_close_by() -> None:
    torch.manual_seed(0)
    network = small().eval()
    x = torch.randn(2, 3, 40, 40)
    with torch.no_grad():
        exact = network(x)
        with torch.autocast("cpu", torch.bfloat16):
            rounded = network(x)
    assert rounded.dtype == torch.float32
    assert (rounded - exact).abs().max() < 0.05 * exact.std() + 0.02


def test_what_the_disk_refuses_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"file: File exists"):
        save(small(), tmp_path / "file" / "network")
    (tmp_path / "network.safetensors").mkdir()
    with pytest.raises(InputError, match=r"network\.safetensors: Is a directory"):
        save(small(), tmp_path / "network")
