"""docs/gallery.md and its pictures, by running the examples: `python docs/make_gallery.py [NAME …]`.

With names, only these are run. A test keeps the page up to date; pictures are made here alone.
"""

import ast
import importlib
import sys
import tempfile
from pathlib import Path

from make_images import shrink

ROOT = Path(__file__).parent.parent
EXAMPLES, PICTURES, PAGE = (
    ROOT / "examples",
    ROOT / "docs" / "images" / "gallery",
    ROOT / "docs" / "gallery.md",
)
COLOURS, WIDTH = 128, 800  # of a picture: small files
SECTIONS = {
    "A tank with electrodes": (
        *("first_tank", "device_file", "any_body", "patterns", "contact_impedance", "faulty_measurement"),
        *("moving_object", "from_pyeit"),
    ),
    "Images without training": (
        *("compare_methods", "greit", "gauss_newton", "total_variation", "level_set", "outlines", "d_bar"),
    ),
    "The paper": (
        *(
            "first_image",
            "electrodes",
            "direct_sampling",
            "theorem1",
            "minimisation",
            "noise_sweep",
            "two_solvers",
        ),
    ),
    "How sure is the image?": ("uncertainty", "posterior"),
    "Data sets and training": ("data_set", "train_your_own", "own_network"),
    "Things of your own": ("own_body", "own_solver", "own_method"),
}
HEAD = """# Gallery

Each picture is made by a short script, which is also a test. Run one from the folder of the repository, with
`python examples/NAME.py`: it says what it found, and its picture is in `out`.
"""


def names() -> list[str]:
    """All examples, in the order of the page."""
    return [name for group in SECTIONS.values() for name in group]


def compose() -> str:
    """The page's text: Markdown that GitHub shows as a list, and the site as a grid."""
    parts = [HEAD]
    for title, group in SECTIONS.items():
        parts += [f"## {title}", '<div class="gallery" markdown>']
        parts += [_card(name) for name in group]
        parts.append("</div>")
    return "\n\n".join(parts) + "\n"


def _card(name: str) -> str:
    text = ast.get_docstring(ast.parse((EXAMPLES / f"{name}.py").read_text(encoding="utf-8"))) or ""
    link = f"../examples/{name}.py"
    picture = f"![{name.replace('_', ' ')}](images/gallery/{name}.png)"
    first = " ".join(text.split("\n\n")[0].split())
    return f"<div markdown>\n\n{picture}\n\n[{name}]({link}): {first}\n\n</div>"


def draw(name: str, folder: Path) -> None:
    """Run an example and keep its picture, small."""
    file = folder / f"{name}.png"
    importlib.import_module(name).main(file)
    PICTURES.mkdir(exist_ok=True)
    shrink(file, PICTURES / file.name, WIDTH, COLOURS)


if __name__ == "__main__":
    sys.path.insert(0, str(EXAMPLES))
    with tempfile.TemporaryDirectory() as temporary:
        for chosen in sys.argv[1:] or names():
            draw(chosen, Path(temporary))
    PAGE.write_text(compose(), encoding="utf-8")
