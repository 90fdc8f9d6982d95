"""Guards around every request: its host, limits on its body, and headers on the answer."""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

ANY_HOST = "*"
_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^\[\]:@/]+))(?::\d+)?")
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
HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


@dataclass(frozen=True)
class Guard:
    """An ASGI application around another: security headers, and bodies of at most `limits[path]` bytes.

    A path without a limit takes no body. Bodies are counted as they come, whatever their Content-Length says.
    """

    app: ASGIApp
    limits: Mapping[str, int]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, guarded."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def out(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_encoded(HEADERS)]
            await send(message)

        await self.app(scope, _counted(receive, self.limits.get(scope["path"], 0)), out)


@dataclass(frozen=True)
class OwnHosts:
    """An ASGI application around another that answers to addresses, and to these host names only.

    A foreign page gets at a server behind its reader's firewall by letting its own name point there: the browser
    takes the two for one, and sends that name as Host. An address is no name and cannot be made to point elsewhere.
    """

    app: ASGIApp
    names: frozenset[str]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        app = self.app
        if scope["type"] == "http" and ANY_HOST not in self.names:
            host = _host(Headers(scope=scope).get("host", ""))
            if not (host in self.names or _is_address(host)):
                reason = f"this server is not called {host[:80]!r}: if it is, start it with that --name"
                app = JSONResponse({"reason": reason}, 400)
        await app(scope, receive, send)


def _host(header: str) -> str:
    """The host in a Host header, without port and brackets; empty where there is none."""
    found = _HOST.fullmatch(header.lower())
    return (found[1] or found[2]) if found else ""


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _counted(receive: Receive, limit: int) -> Receive:
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        if message["type"] == "http.request":
            seen += len(message.get("body", b""))
            if seen > limit:
                raise HTTPException(413, f"the request is larger than {limit:,} bytes")
        return message

    return counted


def _encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers.items()]
