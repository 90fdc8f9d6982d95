"""`eitlens doctor`: a check that everything needed is here and works."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from eitlens import weights
from eitlens.files import make_folder

if TYPE_CHECKING:
    from eitlens.phantom import Phantom

_PACKAGES = ("torch", "numpy", "scipy", "safetensors", "jaxtyping", "typer", "rich", "matplotlib", "filelock")
_EXTRAS = {
    "io": ("h5py",),
    "export": ("onnx", "onnxruntime", "onnxscript"),
    "web": ("fastapi", "uvicorn"),
}
_ENERGY = -0.733370601570
"""∮ g (f - f0) of cos θ and the phantom of the self-test, by the boundary integral equation."""
_TAU, _CURRENTS = 0.05, 3
"""The noise and the currents of the self-test: a case that the scores of every shipped network have."""


@dataclass(frozen=True)
class Finding:
    """The subject of a check, whether it is in order, and the facts."""

    name: str
    ok: bool
    text: str


def doctor(
    device: Annotated[str, typer.Option(help="Where to compute: auto, cpu, cuda or cuda:k.")] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Check versions, GPU, extras, weights and folders, and reconstruct a known body.

    The exit status is 1 if anything is broken.

    Example: eitlens doctor --json
    """
    import json

    if device != "auto":
        _device(device)  # a device that is not there is the user's mistake, not a broken installation
    console, found = Console(quiet=as_json), []
    with console.status("looking …") as status:
        for name, look in _looks(device):
            status.update(f"{name} …")
            found.append(_outcome(name, look))
            mark = "[green]ok[/green]" if found[-1].ok else "[red]broken[/red]"
            console.print(f"{mark} [bold]{name}[/bold]:", end=" ", highlight=False)
            console.print(found[-1].text, highlight=False, soft_wrap=True, markup=False)
    well = all(finding.ok for finding in found)
    if as_json:
        typer.echo(json.dumps({"ok": well, "findings": [asdict(finding) for finding in found]}, indent=2))
    if not well:
        raise typer.Exit(1)


Look = Callable[[], str]
"""Says what it found; raises where something is broken."""


def _looks(device: str) -> Iterator[tuple[str, Look]]:
    yield "versions", _versions
    yield "device", lambda: _device(device)
    yield "extras", _extras
    yield "weights", _weights
    yield "folders", _folders
    yield "forward solver", _physics
    yield "self-test", lambda: _reconstruction(device)


def _outcome(name: str, look: Look) -> Finding:
    try:
        return Finding(name, True, look())
    except Exception as error:  # a broken installation may raise anything; each is a finding
        return Finding(name, False, " ".join(f"{type(error).__name__}: {error}".split()))


def _versions() -> str:
    from importlib.metadata import version
    from platform import platform, python_version

    from eitlens import __version__

    known = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    return f"eitlens {__version__}, Python {python_version()}, {known}; {platform(terse=True)}"


def _device(device: str) -> str:
    import torch

    from eitlens.device import pick_device

    chosen, threads = pick_device(device), torch.get_num_threads()
    if chosen.type != "cuda":
        absent = "" if torch.cuda.is_available() else "; no GPU that torch can use"
        return f"CPU, threads: {threads}{absent}"
    free, total = torch.cuda.mem_get_info(chosen)
    name = torch.cuda.get_device_name(chosen)
    return f"{name}, {free / 2**30:.1f} of {total / 2**30:.1f} GiB free"


def _extras() -> str:
    from importlib.util import find_spec

    here = {extra: all(find_spec(name) for name in names) for extra, names in _EXTRAS.items()}
    absent = [extra for extra, there in here.items() if not there]
    found = ", ".join(extra for extra, there in here.items() if there) or "none"
    return f"{found} installed" + (f"; for more: pip install 'eitlens[{','.join(absent)}]'" if absent else "")


def _weights() -> str:
    from eitlens.imaging import load

    weights.default()  # an error that says what to do when there are none
    return ", ".join(
        f"{name} ({load(name).reader.fewest} to {load(name).reader.currents.count} currents)"
        for name in weights.shipped()
    )


def _folders() -> str:
    from tempfile import TemporaryFile, gettempdir

    from eitlens.web.runtime import cache_folder

    places = (cache_folder(), Path(gettempdir()))
    for place in places:
        make_folder(place)
        with TemporaryFile(dir=place) as stream:
            stream.write(b"eitlens")
    return f"can write to {' and '.join(map(str, places))}"


def _phantom() -> "Phantom":
    from eitlens.phantom import Ellipse, Phantom

    return Phantom([Ellipse((0.3, -0.2), (0.2, 0.35), 0.5), Ellipse((-0.4, 0.4), (0.25, 0.15), 0.2)])


def _physics() -> str:
    from eitlens.domain import Square
    from eitlens.forward import BoundaryIntegralSolver, currents

    square = Square(200)
    g = currents.cosine(square, 1)
    energy = float((g * BoundaryIntegralSolver(square).difference(_phantom(), g)).sum() * square.h)
    error = abs(energy / _ENERGY - 1)
    if error > 1e-8:  # the solver is good to nine digits
        raise ArithmeticError(f"wrong by {error:.1e}: is the linear algebra of this torch sound?")
    return f"right to {max(error, 1e-12):.0e}"  # the reference has twelve digits


def _reconstruction(device: str) -> str:
    from eitlens.domain import Square
    from eitlens.forward import BoundaryIntegralSolver, add_noise, currents
    from eitlens.imaging import load
    from eitlens.measure import Measurement
    from eitlens.paper.cells import read_shipped

    square, name = Square(200), weights.default()
    clean = BoundaryIntegralSolver(square).difference(_phantom(), currents.cosine(square, _CURRENTS))
    found = load(name, device)(Measurement.of_difference(add_noise(clean, _TAU, seed=1)))
    dice = found.dice(_phantom())
    expected = read_shipped()[f"{name}/{_CURRENTS}"][_TAU]["hard_dice"].mean
    text = f"{name} at τ = {_TAU:g}: Dice {dice:.3f}, in the mean over its test set {expected:.3f}"
    if dice < expected - 0.05:  # this body is an easy one: two ellipses well apart
        raise ArithmeticError(f"{text}: far too low: are the weights those of this version?")
    return f"{text}; {found.seconds:.2f} s"
