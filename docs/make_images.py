"""The pictures of the documentation, made by the command line and the examples: `python docs/make_images.py`.

They are kept small by their width and a palette, dithered so that smooth colours show no bands. page.png and
page-tank.png are from docs/make_screenshot.py, and learned-index.png from validation/learned_index.py, which takes
minutes.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
FIGURES = ("fig1-pipeline", "fig3-noise", "fig7-attention", "fig8-network", "direct-sampling", "theorem1")
EXAMPLES = ("uncertainty", "noise_sweep")
COLOURS, WIDTH = 256, 1200  # of a picture
_WHITE = 255


def main() -> None:
    """Make all of them in a temporary folder, then the small ones."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _run(folder, "-m", "eitlens", "demo", "--out", "out/demo.png")
        _run(folder, "-m", "eitlens", "figures", *FIGURES, "--out", "out", "--root", str(ROOT))
        for example in EXAMPLES:
            _run(folder, str(ROOT / "examples" / f"{example}.py"))
        for file in (folder / "out").glob("*.png"):
            shrink(file, IMAGES / file.name)


def shrink(file: Path, target: Path, width: int = WIDTH, colours: int = COLOURS) -> None:
    """Keep a picture in few colours, at most so many pixels wide."""
    image = Image.open(file).convert("RGB")
    if image.width > width:
        image = image.resize((width, image.height * width // image.width), Image.Resampling.LANCZOS)
    few = _palette(image, colours - 1)
    drawn = np.array(image.quantize(palette=few, dither=Image.Dither.FLOYDSTEINBERG))
    drawn[(np.asarray(image) == _WHITE).all(-1)] = colours - 1  # paper without dots
    small = Image.fromarray(drawn, "P")
    small.putpalette(few.getpalette() or [])
    small.save(target, optimize=True)


def _palette(image: Image.Image, colours: int) -> Image.Image:
    """A picture with a palette in which a rare colour counts for more than its pixels, and with white at the end."""
    found, counts = np.unique(np.asarray(image).reshape(-1, 3), axis=0, return_counts=True)
    repeated = np.repeat(found, np.ceil(np.sqrt(counts)).astype(int), axis=0)
    few = Image.fromarray(repeated[None]).quantize(colours, kmeans=2)
    few.putpalette([*(few.getpalette() or [])[: 3 * colours], _WHITE, _WHITE, _WHITE])
    return few


def _run(folder: Path, *words: str) -> None:
    subprocess.run([sys.executable, *words], cwd=folder, check=True)


if __name__ == "__main__":
    main()
