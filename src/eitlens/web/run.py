"""Starting the server."""

import ctypes
import ipaddress
import socket
import sys
from contextlib import suppress

from rich.console import Console

from eitlens.errors import InputError

_ARENA_MAX = -8  # of mallopt, as malloc.h has it
_GRACE = 4
"""Seconds to stop in at the most; connections are closed before (`web/connections.py`)."""


def serve(models: tuple[str, ...], host: str, port: int, device: str, names: tuple[str, ...]) -> None:
    """Load the networks and answer until interrupted."""
    try:
        import uvicorn

        from eitlens.web.app import create
        from eitlens.web.connections import Connection
    except ModuleNotFoundError as error:
        raise InputError(f"the page needs the package {error.name}: pip install 'eitlens[web]'") from None
    from eitlens.web.gallery import Gallery

    _share_one_heap()
    listener = _listener(host, port)
    console = Console(stderr=True)
    with console.status("loading the networks …"):
        gallery = Gallery.open(models, device)
    console.print(f"networks: {', '.join(gallery.imagers) or 'none installed, direct sampling only'}")
    address = ipaddress.ip_address(listener.getsockname()[0])
    shown = "127.0.0.1" if address.is_unspecified else f"[{host}]" if ":" in host else host
    console.print(f"the page: [bold]http://{shown}:{port}[/bold] (Ctrl+C ends)")
    own = () if address.is_loopback else _machine_names()
    if address.is_unspecified:
        console.print(f"from other machines: http://{own[0]}:{port}, or by the address of this one")
    app = create(gallery, names=(host, *own, *names))
    config = uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        log_level="error",
        server_header=False,
        timeout_graceful_shutdown=_GRACE,
    )
    with suppress(KeyboardInterrupt):  # the way to end it
        uvicorn.Server(config).run(sockets=[listener])


def _share_one_heap() -> None:
    """Let all threads use one heap: glibc gives each its own, which keeps what the thread has freed."""
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)


def _listener(host: str, port: int) -> socket.socket:
    """The socket, taken before anything is loaded."""
    try:
        family, *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, socket.SOCK_STREAM)
        if sys.platform != "win32":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except OSError as error:
        raise InputError(f"cannot listen on {host}, port {port} ({error.strerror}): try --port") from None
    return listener


def _machine_names() -> tuple[str, ...]:
    """The names of this machine: its name, in full, and as its neighbours find it without a name server."""
    name = socket.gethostname()
    return name, socket.getfqdn(), f"{name.split('.')[0]}.local"
