"""The pages of the site that are not files in docs, and links that lead out of docs: hooks of mkdocs (mkdocs.yml).

Home is README.md; the reference, a page a package, is from the docstrings; a page for each example and each notebook.
"""

import posixpath
import re
import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs"))

import make_api  # noqa: E402
import notebook  # noqa: E402

_PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "examples": "gallery.md",
    **{f"examples/{file.name}": f"examples/{file.stem}.md" for file in ROOT.glob("examples/*.py")},
    **{f"notebooks/{file.name}": f"notebooks/{file.stem}.md" for file in ROOT.glob("notebooks/*.py")},
    **{
        str(file.relative_to(ROOT)): f"cards/{file.parent.name}.md"
        for file in ROOT.glob("src/eitlens/weights/*/card.md")
    },
    **{str(file.relative_to(ROOT)): f"cards/{file.stem}.md" for file in ROOT.glob("benchmarks/*.md")},
}
"""Where in the site each file outside of docs is."""
_ELSEWHERE = re.compile(r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)=\"(https?://[^\"]+)\"")
_HOMES = {page: name for name, page in _PAGES.items() if name.endswith(".md")}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made here."""
    made: dict[str, str | bytes] = {page: (ROOT / name).read_text("utf-8") for page, name in _present()}
    made |= _reference()
    made |= {f"examples/{file.stem}.md": _example(file) for file in ROOT.glob("examples/*.py")}
    for file in sorted(ROOT.glob("notebooks/*.py")):
        made |= _notebook(file)
    for name, content in made.items():
        old = files.get_file_from_path(name)
        if old is not None:
            files.remove(old)
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links as the site needs them; comments are for those who write."""
    here = page.file.src_uri
    home = (
        "notebooks" if here.startswith("notebooks/") else posixpath.dirname(_HOMES.get(here, f"docs/{here}"))
    )
    text = re.sub(r"<!--.*?-->\n?", "", markdown, flags=re.S)
    return re.sub(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)", lambda found: _link(found, here, home, files), text)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """A page loads nothing from elsewhere."""
    found = _ELSEWHERE.search(output)
    if found:
        raise PluginError(f"{page.file.src_uri}: loads {found[1]}: keep a copy in docs")
    return output


def _link(found: re.Match[str], here: str, home: str, files: Files) -> str:
    """The link with its target in the site; the words alone where that has no such page."""
    target, _, anchor = found[3].partition("#")
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(here), target))
    if "://" in target or not target or files.get_file_from_path(beside):
        return found[0]
    path = posixpath.normpath(posixpath.join(home, target))
    page = _PAGES.get(path, path.removeprefix("docs/") if path.startswith("docs/") else None)
    if page is None:
        return found[2]
    relative = posixpath.relpath(page, posixpath.dirname(here) or ".")
    return f"{found[1]}[{found[2]}]({relative}{anchor and '#' + anchor})"


def _present() -> list[tuple[str, str]]:
    return [(page, name) for page, name in _HOMES.items() if (ROOT / name).is_file()]


def _reference() -> dict[str, str]:
    """A page for each package, and one that leads to them."""
    head, *parts = re.split(r"^## (?=eitlens)", make_api.compose(), flags=re.M)
    pages = {part.partition("\n")[0]: part for part in parts}
    index = re.sub(r"\(#\w+\)", "", head)
    for name in sorted(pages, key=len, reverse=True):
        index = index.replace(f"[{name}]", f"[{name}](reference/{name}.md)")
    return {"api.md": index, **{f"reference/{name}.md": f"# {text}" for name, text in pages.items()}}


def _example(file: Path) -> str:
    code = file.read_text(encoding="utf-8")
    title = file.stem.replace("_", " ").capitalize()
    picture = f"../images/gallery/{file.stem}.png"
    return f"# {title}\n\n![The picture that this example draws]({picture})\n\n```python\n{code}```\n"


def _notebook(file: Path) -> dict[str, str | bytes]:
    cells = notebook.read(file)
    text, pictures = notebook.to_page(file.stem, cells, notebook.run(cells))
    download = f"\n[This page as a notebook for Jupyter]({file.stem}.ipynb)\n"
    files: dict[str, str | bytes] = {f"notebooks/{name}": content for name, content in pictures.items()}
    files[f"notebooks/{file.stem}.ipynb"] = notebook.to_ipynb(cells)
    return {f"notebooks/{file.stem}.md": text + download, **files}
