"""onnxruntime-web, from a folder or from the npm registry that this machine is set up for."""

import hashlib
import io
import json
import os
import shutil
import ssl
import subprocess
import tarfile
from base64 import b64decode
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from eitlens.errors import InputError
from eitlens.files import copy_files, make_folder, write_atomically

VERSION = "1.30.0"
FILES = ("ort.wasm.min.mjs", "ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm")
_PACKAGE, _PUBLIC = "onnxruntime-web", "https://registry.npmjs.org/"
_LIMIT, _SECONDS = 128 << 20, 120  # the package has 30 MB, and slow lines exist
_HELP = "download onnxruntime-web elsewhere and give its dist folder with --runtime"


def place_runtime(target: Path, folder: Path | None) -> None:
    """Put the three files of the runtime into `target`, from `folder` or from the registry by way of a cache."""
    source = folder or _cached()
    found = source / "dist" if (source / "dist" / FILES[0]).is_file() else source
    for name in FILES:
        if not (found / name).is_file():
            raise InputError(f"{source}: no {name} in it: expected the dist folder of {_PACKAGE} {VERSION}")
    copy_files((found / name for name in FILES), target)


def cache_folder() -> Path:
    """The folder of downloads."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "eitlens"


def _cached() -> Path:
    folder = cache_folder() / f"{_PACKAGE}-{VERSION}"
    if not all((folder / name).is_file() for name in FILES):
        _unpack(_download(), folder)
    return folder


def _download() -> bytes:
    """The package, checked against the registry's own digest."""
    try:
        described = _version(json.loads(_get(f"{registry()}{_PACKAGE}/{VERSION}")))
        content = _get(described["tarball"])
    except (OSError, HTTPException, ValueError, KeyError, TypeError) as error:
        raise InputError(f"cannot get {_PACKAGE} {VERSION} from {registry()} ({error}): {_HELP}") from None
    kind, _, digest = str(described.get("integrity", "")).partition("-")
    if kind != "sha512" or hashlib.sha512(content).digest() != b64decode(digest):
        raise InputError(f"{_PACKAGE} {VERSION} from {registry()} is damaged: try again, or {_HELP}")
    return content


def _version(described: dict[str, Any]) -> dict[str, Any]:
    """The address of the package and its digest: of the version asked for, or out of the list of all versions."""
    one = described.get("versions", {}).get(VERSION, described)
    dist: dict[str, Any] = one["dist"]
    return dist


def _unpack(content: bytes, folder: Path) -> None:
    """Write the files we need, each under our own name."""
    make_folder(folder)
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as archive:
        for name in FILES:
            try:
                member = archive.extractfile(f"package/dist/{name}")
            except KeyError:
                member = None
            if member is None:
                raise InputError(f"{_PACKAGE} {VERSION} holds no {name}: {_HELP}")
            write_atomically(folder / name, member.read())


def registry() -> str:
    """The registry npm is set up for, by its environment variable or by asking it; the public one otherwise."""
    given = os.environ.get("NPM_CONFIG_REGISTRY") or _asked()
    return given.rstrip("/") + "/" if given.startswith(("http://", "https://")) else _PUBLIC


def _asked() -> str:
    npm = shutil.which("npm")
    if npm is None:
        return ""
    try:
        asked = subprocess.run([npm, "config", "get", "registry"], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return ""
    return asked.stdout.strip()


def _get(address: str) -> bytes:
    if not address.startswith(("http://", "https://")):
        raise ValueError(f"not an address: {address}")
    with urlopen(Request(address), timeout=_SECONDS, context=ssl.create_default_context()) as response:
        content: bytes = response.read(_LIMIT + 1)
    if len(content) > _LIMIT:
        raise ValueError(f"{address} is larger than {_LIMIT >> 20} MiB")
    return content
