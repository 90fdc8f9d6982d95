"""`eitlens serve`: the page to play with."""

from typing import Annotated

import typer


def serve(
    model: Annotated[
        list[str] | None,
        typer.Option(help="Name of a trained network, or the folder of a run; repeat it to compare several."),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 opens it to the network.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8000,
    device: Annotated[
        str, typer.Option(help="Where the networks compute: auto, cpu, cuda or cuda:k.")
    ] = "cpu",
    name: Annotated[
        list[str] | None,
        typer.Option(
            help="Host name by which browsers reach it, if it is not that of this machine; * for any."
        ),
    ] = None,
) -> None:
    """Start the page in the browser: draw inclusions, and see at once what is seen of them from the boundary.

    Example: eitlens serve --model uit-small --port 8080
    """
    from eitlens.web.run import serve as run

    run(tuple(model or ()), host, port, device, tuple(name or ()))
