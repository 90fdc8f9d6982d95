"""Nothing is silently wrong: what is doubtful warns, what cannot be meant is refused in one line."""

import json
import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import eitlens as eit
from eitlens import models
from eitlens.domain import boundary
from eitlens.errors import InputError, InputWarning
from eitlens.evaluate import images, metrics
from eitlens.files import read_json
from eitlens.measure.points import measured

SQUARE = eit.Square(200)
BODY = eit.EllipseSampler(seed=3, disjoint=True).phantom(0)
DATA = eit.BoundaryIntegralSolver(SQUARE).difference(BODY, eit.currents.cosine(SQUARE, 3))
SMALL = eit.Square(32)
CURRENTS = eit.currents.cosine(SMALL, 3)
GRID, INTEGRAL = eit.GridSolver(SMALL), eit.BoundaryIntegralSolver(SMALL)
CIRCLE = eit.Phantom([eit.circle((0.3, 0.2), 0.3)])


def told(action: Callable[[], object]) -> list[str]:
    """The kinds of words in the warnings of an action."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        action()
    return [str(one.message) for one in caught if issubclass(one.category, InputWarning)]


def test_data_as_they_should_be_warn_of_nothing() -> None:
    assert told(lambda: eit.reconstruct(DATA)) == []
    assert told(lambda: eit.reconstruct(torch.stack([DATA, DATA]))) == []


@pytest.mark.parametrize(
    ("given", "word"),
    [
        (1e3 * DATA, "size 241"),  # millivolts
        (1e-3 * DATA, "size 0.000"),
        (-DATA, "sign of inclusions that conduct less"),
        (0 * DATA, "size 0,"),
        (eit.add_noise(DATA, 0.6, 0), "noise of about"),
    ],
)
def test_one_call_warns_as_an_imager_does(given: torch.Tensor, word: str) -> None:
    said = told(lambda: eit.reconstruct(given))
    assert any(word in text for text in said)
    full = {flag.text for flag in eit.Imager.load()(eit.Measurement.of_difference(given)).warnings}
    assert {text.removeprefix("reconstruct: ") for text in said} <= full | {t for t in said if "100%" in t}


def test_bodies_that_are_doubtful_are_counted() -> None:
    (text,) = {
        t for t in told(lambda: eit.reconstruct(torch.stack([DATA, -DATA, -DATA]))) if "conduct less" in t
    }
    assert text.startswith("reconstruct: 2 of 3 bodies: ")


@pytest.mark.parametrize("nodes", [256, 800])
def test_data_of_a_disk_taken_for_those_of_a_square(nodes: int) -> None:
    disk = eit.Disk(64, nodes)
    data = eit.BoundaryIntegralSolver(disk).difference(CIRCLE, eit.currents.cosine(disk, 3))
    assert any(
        "sign of inclusions" in text or "100% of the data" in text
        for text in told(lambda: eit.reconstruct(data))
    )


def test_points_that_do_not_tell_the_currents_apart() -> None:
    """At 16 points cos 9θ looks like cos 7θ and its voltages do not."""
    g, count = eit.currents.cosine(SQUARE, 16), 16
    data = eit.BoundaryIntegralSolver(SQUARE).difference(CIRCLE, g)
    with pytest.raises(InputError, match="16 points tell 8 of 16 currents apart"):
        measured(SQUARE, g, data, 1.0, 0.0, 0, count)
    s = (torch.arange(count, dtype=torch.float64) + 0.5) * SQUARE.perimeter / count
    place, there, change = (boundary.from_nodes(v, s, SQUARE) for v in (SQUARE.boundary().T, g, data))
    given = eit.Measurement.of_points(place.T, there, change, torch.zeros_like(change))
    assert any(
        "8 of the 16 currents" in flag.text for flag in eit.Imager.load()(given, misfit=False).warnings
    )
    again = eit.Measurement.of_points(
        SQUARE.boundary(),
        eit.currents.cosine(SQUARE, 3).repeat(2, 1),
        eit.add_noise(DATA.repeat(2, 1), 0.1, 0),
        torch.zeros(6, 800),
    )
    assert "currents" not in {flag.kind for flag in eit.Imager.load()(again, misfit=False).warnings}


@pytest.mark.parametrize("solver", [GRID, INTEGRAL])
def test_each_current_has_no_mean_and_a_size(solver: eit.Solver) -> None:
    uneven = CURRENTS * torch.tensor([[1e12], [1.0], [1.0]])
    assert solver.difference(CIRCLE, uneven).isfinite().all()
    uneven[2] += 0.1
    with pytest.raises(InputError, match="zero mean"):
        solver.difference(CIRCLE, uneven)
    for size in (1e-310, 1e-200, 1e200):
        with pytest.raises(InputError, match="is the unit right"):
            solver.difference(CIRCLE, size * CURRENTS)
    assert float(solver.difference(CIRCLE, 0 * CURRENTS[:1]).abs().max()) == 0


@pytest.mark.parametrize("radius", [0.001, 0.01, 0.03])
def test_a_shape_between_the_nodes_warns(radius: float) -> None:
    small = eit.Phantom([eit.circle((0.3, 0.2), 0.3), eit.circle((-0.31, -0.21), radius)])
    (text,) = told(lambda: GRID.difference(small, CURRENTS))
    assert "1 shapes are thinner than a cell" in text
    assert told(lambda: GRID.difference(CIRCLE, CURRENTS)) == []


def test_weights_that_are_no_numbers_are_named(tmp_path: Path) -> None:
    network = models.create("uit-small", currents=1, resolution=32)
    with torch.no_grad():
        next(network.parameters()).fill_(math.nan)
    models.save(network, tmp_path / "net")
    with pytest.raises(InputError, match=r"net\.safetensors: 1 of \d+ weights hold NaN"):
        models.load(tmp_path / "net")


def test_infinite_readings_and_masks_of_other_numbers() -> None:
    electrodes, pattern = eit.TankConfig(electrodes=8).build(eit.Disk(32))
    for values in (torch.full((40,), math.inf), torch.ones(40).index_fill(0, torch.tensor([3]), -math.inf)):
        with pytest.raises(InputError, match="values are infinite"):
            eit.Measurement.of_electrodes(electrodes, pattern, values)
    for bad in (math.inf, math.nan, 0.5):
        with pytest.raises(InputError, match=r"^mask: expected true or false"):
            eit.Measurement.of_points(SMALL.boundary(), CURRENTS, CURRENTS, None, [bad] * 128)


@pytest.mark.parametrize("name", ["scale", "height", "conductivity", "rate", "current", "impedance"])
@pytest.mark.parametrize("bad", [math.inf, math.nan, 1e300, 1e-320])
def test_quantities_of_a_setup_that_no_tank_has(name: str, bad: float) -> None:
    with pytest.raises(InputError, match=f"^{name}: "):
        eit.Setup(**{name: bad})


IMAGER = eit.Imager.load()
START = torch.arange(4) * 1.0
MISTAKES: list[Callable[[], Any]] = [
    lambda: IMAGER.batch([eit.Measurement.of_difference(DATA)]),  # type: ignore[arg-type]
    lambda: IMAGER.batch(DATA),
    lambda: images.dice(torch.ones(5, 5), torch.ones(5, 5)),
    lambda: metrics.hard_dice(torch.ones(5, 5), torch.ones(5, 5)),
    lambda: INTEGRAL.difference(eit.Field(np.ones((33, 33))), CURRENTS),  # type: ignore[arg-type]
    lambda: INTEGRAL.difference(eit.circle((0, 0), 0.3), CURRENTS),  # type: ignore[arg-type]
    lambda: models.create(["uit"]),  # type: ignore[arg-type]
    lambda: eit.registered({}),  # type: ignore[arg-type]
    lambda: eit.imaging.METHODS[["dsm"]],  # type: ignore[index]
    lambda: eit.Square(10**30),
    lambda: eit.Disk(10**9),
    lambda: eit.Disk(32, 10**9),
    lambda: eit.bodies.ellipse(0.2, 0.1).at(10**9),
    lambda: eit.EllipseSampler(seed=0, count=10**9).phantom(0),
    lambda: eit.EllipseSampler(seed=0).batch(0, 10**12),
    lambda: eit.reconstruct(DATA, n=10**9),
]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_one_line_for_what_cannot_be_meant(
    mistake: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    import jaxtyping

    jaxtyping.config.update("jaxtyping_disable", True)  # as for a user
    try:
        with pytest.raises(InputError) as caught:
            mistake()
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)
    assert "\n" not in str(caught.value)


def test_electrodes_in_lists() -> None:
    import jaxtyping

    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        given: Any = ([0.0, 1.0, 2.0], [0.5, 1.5, 2.5], np.array([0.1, 0.1, 0.1]))
        listed = eit.ElementElectrodeSolver(eit.Disk(32), *given, size=0.4)
        assert listed.background(torch.tensor([[1.0, -1.0, 0.0]]).double()).shape == (1, 3)
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000])
def test_json_of_a_hundred_thousand_brackets(text: str, tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"deep\.json: not a JSON file"):
        read_json(path, json.dumps, "write it again")
