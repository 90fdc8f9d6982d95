"""`eitlens export`: a trained network as an ONNX file, or the whole page as static files."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from eitlens.cli.show import say
from eitlens.errors import InputError
from eitlens.files import check_writable


def export(
    network: Annotated[
        str | None, typer.Argument(help="A trained network by name, or the folder of a run.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File to write, such as network.onnx.")
    ] = None,
    web: Annotated[
        Path | None,
        typer.Option(help="Write the page as static files into this folder, which must not exist."),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="With --web: a network by name or folder; repeat for several. Default: all shipped."
        ),
    ] = None,
    runtime: Annotated[
        Path | None,
        typer.Option(help="With --web: the dist folder of onnxruntime-web; default: from the npm registry."),
    ] = None,
) -> None:
    """Export a network as ONNX, from boundary data f - f0 to logits, or the page for any web host.

    Example: eitlens export uit-small -o uit-small.onnx

    Example: eitlens export --web site --model uit-small
    """
    if web is not None and network is None and out is None:
        _page(web, tuple(model or ()), runtime)
    elif network is not None and out is not None and web is None and not model and runtime is None:
        _network(network, out)
    else:
        raise InputError("give a network and -o FILE.onnx, or --web FOLDER with --model and --runtime")


def _network(network: str, out: Path) -> None:
    from eitlens import weights
    from eitlens.web.export import export_network

    check_writable(out)
    if out.suffix != ".onnx":
        raise InputError(f"{out}: the file's name must end in .onnx")
    if (weights.find(network) / weights.MAPS).exists():
        raise InputError(
            f"{network}: it reads a code of the tank, not boundary data: no ONNX file holds that"
        )
    console = Console()
    with console.status("exporting and comparing with PyTorch …"):
        graph = export_network(network, out)
    say(console, f"{out}: within {graph.error:.1e} of PyTorch")


def _page(folder: Path, models: tuple[str, ...], runtime: Path | None) -> None:
    from eitlens.web.export import export_page
    from eitlens.web.gallery import Gallery

    console = Console()
    with console.status("loading the networks …") as status:
        for done in export_page(folder, Gallery.open(models), runtime):
            say(console, f"written: {done}")
            status.update("exporting …")
    say(console, f"the page: {folder}; try it with: python -m http.server --directory {folder}")
