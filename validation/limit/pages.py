"""What a study puts into a page of the documentation: text between markers, pictures of few colours."""

from pathlib import Path

from PIL import Image

_COLOURS = 64


def between(page: Path, name: str, text: str) -> None:
    """Put the text between <!-- name --> and <!-- end of name -->."""
    first, last = f"<!-- {name} -->", f"<!-- end of {name} -->"
    head, rest = page.read_text().split(first)
    _, tail = rest.split(last)
    page.write_text(f"{head}{first}\n\n{text}\n\n{last}{tail}")


def shrunk(picture: Path) -> None:
    """Save a picture again with a palette, as the others of docs/images are."""
    Image.open(picture).convert("RGB").quantize(_COLOURS).save(picture, optimize=True)
