"""Files that crash the library they are read with cost one file, not the process."""

import io

import numpy as np
import pytest
import scipy.io

from eitlens.errors import InputError
from eitlens.measure import Measurement, files
from eitlens.measure.formats import hdf5
from eitlens.measure.guard import LIMIT
from eitlens.measure.isolation import SafeParser


@pytest.fixture
def made(difference):
    return Measurement.of_difference(difference[:, ::8])


@pytest.fixture
def content(made):
    stream = io.BytesIO()
    scipy.io.savemat(stream, {key: np.array(value) for key, value in made.to_dict().items()})
    return stream.getvalue()


def test_a_child_that_dies_costs_one_file_only(made, content):
    parse = SafeParser()
    assert np.allclose(parse(content, "a.mat").voltages, made.voltages)
    with pytest.raises(InputError, match=r"^b\.mat: "):
        parse(content[:300], "b.mat")
    parse._child.process.kill()
    parse._child.process.wait()
    with pytest.raises(InputError, match=r"^c\.mat: damaged beyond reading"):
        parse(content, "c.mat")
    assert np.allclose(parse(content, "d.mat").voltages, made.voltages)
    parse.close()


def test_a_child_that_hangs_is_ended(content):
    parse = SafeParser(patience=0.01)  # shorter than an interpreter takes to start
    with pytest.raises(InputError, match="damaged beyond reading"):
        parse(content, "slow.mat")
    assert parse._child is None


def test_files_are_read_that_way(tmp_path, made, content):
    (tmp_path / "data.mat").write_bytes(content)
    assert np.allclose(files.read(tmp_path / "data.mat").voltages, made.voltages)


@pytest.mark.parametrize("shape", [{"chunks": (1 << 24, 2), "maxshape": (None, 2)}, {"dtype": f"S{1 << 28}"}])
def test_hdf5_that_unpacks_to_more_than_its_numbers_is_refused_before_it_is_read(shape):
    h5py = pytest.importorskip("h5py")
    stream, name = io.BytesIO(), "currents" if "chunks" in shape else "domain"
    with h5py.File(stream, "w") as file:
        file["points"] = np.ones((8, 2))
        file.create_dataset(name, (8, 2), **shape)
    with pytest.raises(InputError, match="of arrays"):
        hdf5.read(stream.getvalue(), LIMIT)
