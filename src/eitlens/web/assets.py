"""The files of the page, read once into memory: a request names one of them and never a path on the disk."""

from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
CONTENT_SECURITY_POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self' 'wasm-unsafe-eval'",
        "worker-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
)
"""The rules of the page for browsers: it asks nobody but its own server, and runs nothing but its own files."""


@dataclass(frozen=True)
class Asset:
    """A file with its media type."""

    content: bytes
    kind: str


def page() -> dict[str, Asset]:
    """The files of the page by their names relative to the page."""
    return dict(_walk(files("eitlens.web") / "page", ""))


def _walk(folder: Traversable, prefix: str) -> list[tuple[str, Asset]]:
    found = []
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        name = prefix + entry.name
        if entry.is_dir():
            found += _walk(entry, name + "/")
        elif (kind := TYPES.get("." + entry.name.rsplit(".", 1)[-1])) is not None:
            found.append((name, Asset(entry.read_bytes(), kind)))
    return found
