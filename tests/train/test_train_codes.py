"""Training on codes: a bank of samples, any number of currents, noise of all levels."""

from dataclasses import replace

import pytest
import torch

from eitlens.errors import InputError
from eitlens.evaluate.score import score
from eitlens.feature import Codes
from eitlens.feature.storage import read_input
from eitlens.feed import Noise, Pipeline
from eitlens.models.trained import Trained, save_compact
from eitlens.train import NetworkConfig, Schedule, SourceConfig, TrainConfig, train
from eitlens.train.examples import ExampleFeed
from eitlens.train.processes import Processes
from eitlens.train.supply import Supply

CPU = torch.device("cpu")
TINY = {
    "modes": 16,
    "width": 64,
    "layers": 1,
    "heads": 2,
    "grid": 4,
    "hidden": 64,
    "waves": 2,
    "amplitudes": 2,
    "fine": 8,
}


def test_noise_of_all_levels():
    tau = Noise((1e-3, 0.25), "spread").tau(1, 0, torch.arange(6000))
    assert abs(float((tau == 0).double().mean()) - 1 / 3) < 0.03
    assert float(tau.max()) <= 0.25
    assert float(tau[tau > 0].min()) < 2e-3
    assert abs(float((tau > 0.05).double().mean()) - 0.8 / 3 - 0.29 / 3) < 0.03


def test_a_bank_is_shown_again_and_groups_change_nothing(data):
    supply = Supply.open(SourceConfig(stream=data, block=8, bank=20))
    bank = supply.bank(5, CPU)
    assert len(bank) == 20
    assert bank.phantoms is None
    codes = Codes.of_data(data.n, data.currents, bank.difference, 16)
    pipeline = Pipeline(codes, Noise((0.1,)), augment=True, counts=(1, data.currents.count), seed=3)
    plain = ExampleFeed(supply.source(4, 5, Processes()), pipeline, CPU)
    grouped = ExampleFeed(supply.source(4, 5, Processes()), pipeline, CPU, group=3)
    for step in (0, 1, 4, 5, 6, 11):
        a, b = plain(step), grouped(step)
        torch.testing.assert_close(a.features, b.features, atol=1e-4, rtol=1e-4)
        assert torch.equal(a.target, b.target)
        assert torch.equal(torch.isnan(a.difference), torch.isnan(b.difference))


def test_a_reflected_body_has_the_same_code_up_to_signs(data):
    supply = Supply.open(SourceConfig(stream=data, block=8, bank=24))
    difference = supply.bank(5, CPU).difference
    codes = Codes.of_data(data.n, data.currents, difference, 16)
    from eitlens.feature.codes import characters, mirrors
    from eitlens.forward.symmetry import symmetries

    moves = symmetries(data.domain, data.currents)
    assert len(mirrors(moves)) == 4
    signs = characters([moves.names[k] for k in mirrors(moves)])
    z = codes.code(difference).mean
    for column, element in enumerate(mirrors(moves)):
        moved = codes.code(moves.move_data(difference, torch.full((24,), element))).mean
        torch.testing.assert_close(moved, z * signs[codes.prior.parity, column], atol=1e-6, rtol=1e-5)


def test_a_run_on_codes_is_trained_kept_and_scored(data, tmp_path):
    recipe = replace(data, validation=4, test=6)
    config = TrainConfig(
        "codes",
        network=NetworkConfig("flagship", TINY),
        data=SourceConfig(stream=recipe, block=8, bank=24),
        noise=Noise((1e-3, 0.25), "spread"),
        input="gaussian",
        counts=(1, data.currents.count),
        optimiser="muon",
        schedule=Schedule(start=10.0),
        batch=8,
        samples=96,
        average=0.9,
        validate_every=6,
        log_every=3,
    )
    result = train(config, tmp_path / "run", "cpu")
    assert result is not None
    save_compact(tmp_path / "run", "best", tmp_path / "small")
    assert isinstance(read_input(tmp_path / "small"), Codes)
    trained = Trained.load(tmp_path / "small")
    samples = Supply.open(config.data).split("test", CPU)
    for count in (1, data.currents.count):
        assert 0 < score(trained.reading(count), samples, 0.05).metrics["cross_entropy"].mean < 2
    assert trained.fewest == 1


@pytest.mark.parametrize(("n", "fix"), [(32, "set network.settings.grid=4"), (36, "use data of 8, 16, 24")])
def test_the_grids_of_network_and_data_must_fit(n, fix, data, tmp_path):
    network = NetworkConfig("flagship", TINY | {"grid": 5})
    source = SourceConfig(stream=replace(data, n=n), bank=8)
    config = TrainConfig("x", network=network, data=source, input="gaussian", samples=8)
    with pytest.raises(
        InputError, match=f"flagship makes images of 40 cells a side, the data have {n}: {fix}"
    ):
        train(config, tmp_path / "run", "cpu")
    assert not (tmp_path / "run").exists()


def test_input_and_network_must_fit(data, tmp_path):
    config = TrainConfig("x", data=SourceConfig(stream=data), input="gaussian", samples=8)
    with pytest.raises(InputError, match=r"harmonic.*gaussian"):
        train(config, tmp_path / "run", "cpu")
