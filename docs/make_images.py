"""The pictures of the documentation, made by the command line and the examples: `python docs/make_images.py`.

They are kept small by a palette of 128 colours. docs/images/page.png and page-tank.png are screenshots of
`eitlens serve` in full colour, and learned-index.png is from validation/learned_index.py, which takes minutes.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
FIGURES = ("fig1-pipeline", "fig3-noise", "fig7-attention", "fig8-network", "direct-sampling", "theorem1")
EXAMPLES = ("uncertainty", "noise_sweep")
COLOURS = 128


def main() -> None:
    """Make all of them in a temporary folder, then the small ones."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _run(folder, "-m", "eitlens", "demo", "--out", "out/demo.png")
        _run(folder, "-m", "eitlens", "figures", *FIGURES, "--out", "out", "--root", str(ROOT))
        for example in EXAMPLES:
            _run(folder, str(ROOT / "examples" / f"{example}.py"))
        for file in (folder / "out").glob("*.png"):
            Image.open(file).convert("RGB").quantize(COLOURS).save(IMAGES / file.name, optimize=True)


def _run(folder: Path, *words: str) -> None:
    subprocess.run([sys.executable, *words], cwd=folder, check=True)


if __name__ == "__main__":
    main()
