"""The documentation: up to date, its links lead somewhere, its Python runs, its pictures are small."""

import importlib.util
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
import torch

import eitlens as eit
from eitlens.dataset import DataConfig, SamplerConfig, SolverConfig, generate
from eitlens.paper.page import Places
from eitlens.paper.quotes import refresh, sources
from eitlens.phantom import files as phantoms
from eitlens.phantom import sequence

ROOT = Path(__file__).parent.parent
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
LINKING = [*PAGES, *ROOT.glob("benchmarks/*.md"), *ROOT.glob("src/eitlens/weights/*/card.md")]
QUOTING = [page for page in Places(ROOT).quoting if sources(page, Places(ROOT))]

every_page = pytest.mark.parametrize("page", LINKING, ids=lambda page: str(page.relative_to(ROOT)))


def test_the_api_reference_is_up_to_date():
    specification = importlib.util.spec_from_file_location("make_api", ROOT / "docs" / "make_api.py")
    make_api = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(make_api)
    assert (ROOT / "docs" / "api.md").read_text() == make_api.compose(), "run `python docs/make_api.py`"


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / "docs" / page).read_text(), re.S)


def test_the_python_about_data_sets_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sampler, solver = SamplerConfig(count=1, disjoint=True), SolverConfig("boundary-integral", 1e-4)
    generate(DataConfig("paper", 32, 64, 2, 2, sampler=sampler, solver=solver), Path("data/paper"))
    names: dict[str, Any] = {}
    exec(blocks("data_format.md", "python")[0], names)
    assert names["train"].mask.shape == (64, 33, 33)
    assert names["example"].features.shape == (64, 9, 33, 33)


def test_the_configuration_of_a_data_set_shows_the_defaults():
    text, worlds, tanks = blocks("data_format.md", "json")
    assert DataConfig.from_dict(json.loads(text)) == DataConfig("mine")
    assert DataConfig.from_dict(json.loads(worlds)).sigma
    assert DataConfig.from_dict(json.loads(tanks)).tank == eit.TankConfig(
        scale=0.1, height=0.05, impedance=1e-4
    )


def test_the_python_about_training_runs(tmp_path, monkeypatch):
    """With sixteen samples instead of a minute's."""
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("training.md", "python")
    assert "seed=1" in code
    names: dict[str, Any] = {"difference": torch.zeros(2, 3, 256, dtype=torch.float64)}
    exec(code.replace("seed=1", "seed=1, samples=16"), names)
    assert names["logits"].shape == (2, 65, 65)


def test_the_python_about_the_posterior_runs():
    """On a coarse boundary, and for a second instead of ten minutes: it says that this is too short."""
    square = eit.Square(32)
    currents = eit.currents.cosine(square, 1)
    df = eit.BoundaryIntegralSolver(square).difference(eit.Phantom([eit.circle((0.2, 0.1), 0.3)]), currents)
    names: dict[str, Any] = {"eit": eit, "square": square, "currents": currents, "noisy": df}
    (code,) = blocks("posterior.md", "python")
    assert "seconds=600" in code
    exec(code.replace("seconds=600", "seconds=1"), names)
    assert names["result"].mean(0).shape == (33, 33)
    assert not names["result"].diagnostics.converged.any()


def test_the_python_about_sequences_runs():
    """The rod is seen where it was put."""
    names: dict[str, object] = {}
    exec(blocks("measurements.md", "python")[0], names)
    for found, place in zip(names["images"], names["places"], strict=True):
        node = found.domain.nodes().flatten(0, 1)[found.image.argmax()]
        assert math.dist(node.tolist(), place) < 0.1


def test_the_phantom_of_the_page_can_be_simulated():
    text, moving = blocks("measurements.md", "json")
    assert len(phantoms.parse(text.encode(), "the page").shapes) == 3
    first, last = sequence.parse(moving.encode(), "the page", eit.Disk(32, scale=0.1), 2, 0.5)
    assert last.shapes[0].center[0] - first.shapes[0].center[0] == pytest.approx(0.2)


def test_the_python_about_tanks_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(blocks("measurements.md", "python")[1], names)
    assert names["files"].read("tank.npz").voltages.shape == (3, 208)


def anchors(page: Path) -> set[str]:
    """As GitHub makes them: lower case, no punctuation, dashes for spaces."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@every_page
def test_every_link_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if target.startswith(("http://", "https://")):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name) if name else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


@pytest.mark.parametrize("page", QUOTING, ids=lambda page: page.name)
def test_quoted_numbers_are_those_of_the_result_files(page):
    assert page.read_text() == refresh(page, Places(ROOT)), "run `eitlens benchmark table1`"


def test_the_readme_quotes_its_results():
    assert ROOT / "README.md" in QUOTING


def test_pictures_are_small_and_shown():
    shown = {name for page in PAGES for name in re.findall(r"images/([\w./-]+)", page.read_text())}
    for file in (ROOT / "docs" / "images").rglob("*.*"):
        assert str(file.relative_to(ROOT / "docs" / "images")) in shown
        assert file.stat().st_size <= 150_000


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text().partition("nav:\n  - Home")[2]
    for page in (ROOT / "docs").glob("*.md"):
        assert f": {page.name}\n" in navigation, f"{page.name}: add it to nav in mkdocs.yml"


def test_the_python_about_quality_runs():
    names: dict[str, Any] = {}
    (code,) = blocks("quality.md", "python")
    exec(code, names)
    assert [finding.kind for finding in names["report"].findings] == ["polarity"]
    assert names["report"].fit.conductivity == pytest.approx(0.3, rel=1e-3)
