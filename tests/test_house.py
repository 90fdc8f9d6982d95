"""The rules of the house: one word for one thing, kinds known by their folder alone, short ways, examples that run."""

import ast
import doctest
import inspect
import re
import sys
from collections import Counter
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import FrameType

import pytest
import torch

import eitlens as eit
from eitlens.domain import Domain
from eitlens.feature.base import Input
from eitlens.models import Network

HOME = Path(eit.__file__).parent
DOCS = HOME.parents[1] / "docs"
FILES = sorted(HOME.rglob("*.py"))
TREES = {file: ast.parse(file.read_text()) for file in FILES}
FEWEST_LINES = 25
MOST_FILES, MOST_CHANGES = 14, 60
"""On the way of one reconstruction."""
UNCLEAR = {"What", "Where", "Which", "How", "It", "They", "This", "That", "These", "Those", "Its", "Their"}
"""First words of a docstring that leave open what is described."""


def test_no_class_name_is_defined_twice():
    classes = (node for tree in TREES.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    counts = Counter(node.name for node in classes)
    assert [name for name, count in counts.items() if count > 1] == []


def kinds() -> dict[str, str]:
    """The folder of every kind of input, network and body of the package, by its name."""
    for file in FILES:
        if not {"triton_kernels.py", "triton_rows.py", "__main__.py"} & {file.name}:
            import_module(".".join(["eitlens", *file.relative_to(HOME).with_suffix("").parts]))
    found, left = {}, [Input, Network, Domain]
    while left:
        new = [kind for kind in left.pop().__subclasses__() if kind.__module__.startswith("eitlens.")]
        found |= {kind.__name__: kind.__module__.split(".")[1] for kind in new}
        left += new
    return found


def asked(node: ast.AST) -> set[str]:
    """The names of the classes that a call of `isinstance`, or a comparison of a type, asks for."""
    if isinstance(node, ast.Compare) and getattr(getattr(node.left, "func", None), "id", "") == "type":
        return {getattr(part, "id", getattr(part, "attr", "")) for part in node.comparators}
    if not (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance"):
        return set()
    return {getattr(part, "id", getattr(part, "attr", "")) for part in ast.walk(node.args[1])}


def test_no_kind_is_asked_for_outside_its_folder():
    known = kinds()
    assert {"Square": "domain", "Codes": "feature", "Flagship": "models"}.items() <= known.items()
    for file, tree in TREES.items():
        for name in {name for node in ast.walk(tree) for name in asked(node)} & known.keys():
            assert file.relative_to(HOME).parts[0] == known[name], f"{file}: isinstance(…, {name})"


def test_the_way_of_a_reconstruction_is_short():
    square = eit.Square(200)
    phantom = eit.Phantom([eit.circle((0.3, 0.2), 0.3)])
    df = eit.BoundaryIntegralSolver(square).difference(phantom, eit.currents.cosine(square, 3))
    eit.reconstruct(df)  # loads the weights
    calls: list[tuple[str, str]] = []

    def note(frame: FrameType, event: str, argument: object) -> None:
        place = frame.f_code.co_filename
        if event == "call" and place.startswith(str(HOME)):
            calls.append((place, frame.f_code.co_name))

    sys.setprofile(note)
    try:
        eit.reconstruct(df)
    finally:
        sys.setprofile(None)
    files = [place for place, _ in calls]
    assert len(set(files)) <= MOST_FILES
    assert sum(one != other for one, other in pairwise(files)) <= MOST_CHANGES
    assert calls.count((str(HOME / "feature" / "gaussian.py"), "code")) == 1


@pytest.mark.parametrize("name", eit.__all__)
def test_a_docstring_begins_with_a_sentence(name):
    first = inspect.getdoc(getattr(eit, name)).splitlines()[0]
    assert first[0].isupper(), first
    assert first.endswith("."), first
    assert first.split()[0] not in UNCLEAR, first


@pytest.mark.parametrize("name", eit.__all__)
def test_the_example_of_a_docstring_runs(name):
    (example,) = doctest.DocTestFinder(recurse=False).find(
        getattr(eit, name), name, module=False, globs={"eit": eit, "torch": torch}
    )
    assert example.examples, f"{name}: no example in its docstring"
    found = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example)
    assert found.failed == 0


def test_the_page_about_the_house_knows_every_folder_and_names_files_that_are_there():
    text, drawn = ((DOCS / name).read_text() for name in ("architecture.md", "images/house.svg"))
    folders = {file.parent.name for file in HOME.glob("*/__init__.py")}
    assert folders <= set(re.findall(r"`(\w+)`", text))
    assert folders <= set(re.findall(r"\w+", drawn))
    named = re.findall(r"`(\w+(?:/\w+)+\.(?:py|js))`", text.replace("tests/test_house.py", ""))
    assert [name for name in named if not (HOME / name).exists()] == []


def test_no_file_is_too_short():
    own = [file for file in FILES if file.name not in ("__init__.py", "__main__.py")]
    assert [str(f) for f in own if len(f.read_text().splitlines()) < FEWEST_LINES] == []
