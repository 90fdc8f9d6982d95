"""The published layout, there and back."""

import sys

import pytest
import torch

from eitlens.dataset import Dataset, check
from eitlens.dataset.hdf5 import export_hdf5, import_hdf5
from eitlens.dataset.neumann_data import neumann_data
from eitlens.domain import Square
from eitlens.errors import InputError
from eitlens.forward.currents import CurrentsConfig

h5py = pytest.importorskip("h5py")


@pytest.fixture
def exported(whole, tmp_path):
    dataset = Dataset.open(whole)
    export_hdf5(dataset, tmp_path / "h5", "train", 1, torch.float64)
    export_hdf5(dataset, tmp_path / "h5", "test", 2, torch.float64)
    return tmp_path / "h5"


def test_the_layout(exported, whole):
    samples = Dataset.open(whole).split("train")
    with (
        h5py.File(exported / "phi_bm10bp1_part1.h5") as phi,
        h5py.File(exported / "I_true_num4_part1.h5") as target,
    ):
        (key,) = phi
        assert phi[key].shape == (13, 3, 33, 33)
        assert target["I_true"].shape == (13, 33, 33)
        values = torch.from_numpy(target["I_true"][:])
    assert torch.equal(values.mT > 0, samples.mask)
    assert not torch.equal(values > 0, samples.mask), "an asymmetric inclusion tells the two apart"


def test_there_and_back(exported, whole, tmp_path):
    report = import_hdf5(exported, tmp_path / "data", [1, 2], test=6)
    dataset, original = Dataset.open(tmp_path / "data"), Dataset.open(whole)
    index = torch.cat([torch.arange(13), torch.arange(18, 24)])
    expected = original.read(0, 24)[index]
    again = dataset.read(0, 19)
    assert torch.allclose(again.difference, expected.difference, rtol=0, atol=1e-12)
    assert torch.equal(again.mask, expected.mask)
    assert again.phantoms is None
    assert dataset.config is None
    assert dataset.manifest.splits == {"train": (0, 10), "validation": (10, 13), "test": (13, 19)}
    assert report.samples == 19
    assert report.residual < 1e-10
    assert report.correlation[0] < -0.8
    assert check(tmp_path / "data").spot_checks == 0


def test_single_precision_files_lose_little(whole, tmp_path):
    dataset = Dataset.open(whole)
    export_hdf5(dataset, tmp_path / "h5", "test")
    import_hdf5(tmp_path / "h5", tmp_path / "data", [1])
    again, expected = Dataset.open(tmp_path / "data").read(0, 6), dataset.split("test")
    error = (again.difference - expected.difference).norm(dim=-1) / expected.difference.norm(dim=-1)
    assert error.max() < 1e-5


def test_fewer_currents_take_the_first_channels(exported, whole, tmp_path):
    import_hdf5(exported, tmp_path / "data", [2], CurrentsConfig("cosine", 1))
    again = Dataset.open(tmp_path / "data").read(0, 6).difference
    expected = Dataset.open(whole).split("test").difference[:, :1]
    assert torch.allclose(again, expected, rtol=0, atol=1e-12)


def test_recovering_boundary_data_is_stable():
    """A φ that is 1e-4 off, as one of a second-order scheme would be, gives data about as far off."""
    domain = Square(64)
    data = torch.cos(3 * domain.angle())[None, None]
    phi = domain.extend(data)
    nodes = domain.nodes()
    rough = phi + 1e-4 * phi.abs().max() * torch.sin(5 * nodes[..., 0]) * torch.cos(4 * nodes[..., 1])
    again, residual = neumann_data(domain, rough)
    assert residual < 1e-3
    assert (again - data).norm() < 1e-3 * data.norm()


def edit(path, name, function):
    with h5py.File(path, "r+") as file:
        values = function(file[name][:])
        del file[name]
        file[name] = values


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda phi: phi + 0.1 * abs(phi), "is not harmonic"),
        (lambda phi: phi * float("nan"), "NaN or infinite φ"),
        (lambda phi: phi[:, :2], r"expected \(N, 3 or more, n, n\)"),
        (lambda phi: phi[:4], "targets of shape"),
    ],
)
def test_files_that_are_something_else(exported, tmp_path, harm, message):
    edit(exported / "phi_bm10bp1_part1.h5", "phi", harm)
    with pytest.raises(InputError, match=message):
        import_hdf5(exported, tmp_path / "data", [1])
    with pytest.raises(InputError, match=r"manifest.json: no such file"):
        Dataset.open(tmp_path / "data")


def test_no_file_or_two(exported, tmp_path):
    with pytest.raises(InputError, match=r"\*phi_bm10bp1\*part3\*.h5, found none"):
        import_hdf5(exported, tmp_path / "data", [3])
    (exported / "phi_bm10bp1_noise5_part1.h5").write_bytes(b"")
    with pytest.raises(InputError, match=r"phi_bm10bp1_noise5_part1.h5, phi_bm10bp1_part1.h5: keep one"):
        import_hdf5(exported, tmp_path / "data", [1])


def test_a_file_cut_short(exported, tmp_path):
    path = exported / "phi_bm10bp1_part1.h5"
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(InputError, match=r"part1.h5: not a whole HDF5 file"):
        import_hdf5(exported, tmp_path / "data", [1])


def test_no_key(exported, tmp_path):
    with h5py.File(exported / "I_true_num4_part1.h5", "r+") as file:
        file["mask"] = file.pop("I_true")[:]
    with pytest.raises(InputError, match=r"expected the key 'I_true', it has \['mask'\]"):
        import_hdf5(exported, tmp_path / "data", [1])


@pytest.mark.parametrize("test", [-1, 13])
def test_a_test_split_that_cannot_be_is_refused_before_anything_is_written(exported, tmp_path, test):
    with pytest.raises(InputError, match=f"test={test}: expected fewer than the 13 samples there are"):
        import_hdf5(exported, tmp_path / "data", [1], test=test)
    assert not (tmp_path / "data").exists()


def test_another_data_set_is_not_overwritten(exported, copied):
    with pytest.raises(InputError, match="already holds a data set"):
        import_hdf5(exported, copied, [1])


def test_without_h5py_the_message_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(InputError, match=r"pip install 'eitlens\[io\]'"):
        import_hdf5(tmp_path, tmp_path / "data", [1])
