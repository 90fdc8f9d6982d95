"""docs/api.md from the docstrings, without importing anything: `python docs/make_api.py`; a test keeps it up to date.

Every name in the `__all__` of a public package is looked up where it is defined; names that are also in
`eitlens.__all__` are marked as `eit.NAME`. Modules without `__all__` show all their public functions and classes.
"""

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE, PAGE = ROOT / "src", ROOT / "docs" / "api.md"
PACKAGES = (
    "eitlens.domain",
    "eitlens.domain.bodies",
    "eitlens.phantom",
    "eitlens.forward",
    "eitlens.forward.currents",
    "eitlens.electrodes",
    "eitlens.electrodes.protocols",
    "eitlens.feature",
    "eitlens.classical",
    "eitlens.posterior",
    "eitlens.dataset",
    "eitlens.feed",
    "eitlens.measure",
    "eitlens.models",
    "eitlens.imaging",
    "eitlens.measure.files",
    "eitlens.evaluate",
    "eitlens.evaluate.metrics",
    "eitlens.evaluate.score",
    "eitlens.models.trained",
    "eitlens.train",
    "eitlens.errors",
)
HEAD = """# API reference

Written by `python docs/make_api.py` from the docstrings: do not edit. `eit.NAME` stands for a name of `import
eitlens as eit`; the others are imported from the package they are listed under. Symbols: [notation.md](notation.md).
"""
Definition = ast.ClassDef | ast.FunctionDef


def compose() -> str:
    """The page's text."""
    index = "\n".join(f"- [{name}](#{name.replace('.', '')})" for name in PACKAGES)
    return "\n".join([HEAD, index, "", *(line for name in PACKAGES for line in _package(name))])


def _package(name: str) -> Iterator[str]:
    tree = _tree(name)
    yield f"## {name}\n"
    yield _text(tree)
    short = _strings(_tree("eitlens"), "__all__")
    for item in _strings(tree, "__all__") or [node.name for node in _definitions(tree)]:
        found = _find(name, item)
        if found is not None and not item.startswith("_"):
            title = f"eit.{item}" if item in short else item
            yield from _described(found, title)


def _described(node: Definition, title: str) -> Iterator[str]:
    yield f"### {title}\n"
    yield f"```python\n{_signature(node)}\n```\n"
    yield _text(node)
    if isinstance(node, ast.ClassDef):
        methods = [part for part in _definitions(node) if part.name == "__call__" or part.name[0] != "_"]
        yield from map(_method, methods)
        yield ""


def _method(node: Definition) -> str:
    """A line in a list, the text below it where it is more than a sentence or two."""
    text = inspect.cleandoc(ast.get_docstring(node) or "")
    if "\n\n" in text or "  " in text:
        block = "\n".join(f"  {line}".rstrip() for line in f"```text\n{text}\n```".splitlines())
        return f"- `{_signature(node)}`\n\n{block}\n"
    return f"- `{_signature(node)}`: {' '.join(text.split())}"


def _signature(node: Definition) -> str:
    if isinstance(node, ast.FunctionDef):
        returned = f" -> {ast.unparse(node.returns)}" if node.returns else ""
        given = ast.unparse(node.args).removeprefix("self").removeprefix(", ")
        return f"{node.name}{'' if _decorated(node, 'property') else f'({given})'}{returned}"
    given = ", ".join(ast.unparse(field) for field in _fields(node))
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    return f"class {node.name}({given if _decorated(node, 'dataclass') else bases})"


def _fields(node: ast.ClassDef) -> Iterator[ast.AnnAssign]:
    """What a dataclass is made of."""
    for part in node.body:
        if not (isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)):
            continue
        if "ClassVar" not in ast.unparse(part.annotation) and not part.target.id.startswith("_"):
            yield part


def _decorated(node: Definition, name: str) -> bool:
    return any(name in ast.unparse(decorator) for decorator in node.decorator_list)


def _find(package: str, item: str) -> Definition | None:
    """Where a name is defined, followed through `from … import`; None for constants and types."""
    tree = _tree(package)
    for node in _definitions(tree):
        if node.name == item:
            return node
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("eitlens"):
            for alias in node.names:
                if (alias.asname or alias.name) == item:
                    return _find(node.module, alias.name)
    return None


def _definitions(node: ast.Module | ast.ClassDef) -> list[Definition]:
    return [part for part in node.body if isinstance(part, ast.ClassDef | ast.FunctionDef)]


def _strings(tree: ast.Module, name: str) -> list[str]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return list(ast.literal_eval(node.value))
    return []


def _text(node: ast.Module | Definition) -> str:
    """A docstring as it is: its equations and lists are laid out for a fixed width."""
    text = ast.get_docstring(node, clean=False)
    return f"```text\n{inspect.cleandoc(text)}\n```\n" if text else ""


@cache
def _tree(name: str) -> ast.Module:
    path = SOURCE.joinpath(*name.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text())


if __name__ == "__main__":
    PAGE.write_text(compose())
