"""Guards around every request: its host and origin, limits on its body, and headers on the answer."""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from eitlens.web.assets import CONTENT_SECURITY_POLICY

ANY_HOST = "*"
LOCAL = "localhost"
MOST_HELD = 128 << 20
"""Bytes of all bodies that are held at once: sixteen of the largest files."""
_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^\[\]:@/]+))(?::\d+)?")
HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


@dataclass
class Held:
    """The bytes of the bodies of all requests under way."""

    bytes: int = 0


@dataclass(frozen=True)
class Guard:
    """An ASGI application around another: security headers, and bodies of at most `limits[path]` bytes.

    A path without a limit takes no body. Bodies are counted as they come, whatever their Content-Length says, each
    alone and all together.
    """

    app: ASGIApp
    limits: Mapping[str, int]
    held: Held = field(default_factory=Held)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, guarded."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def out(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_encoded(HEADERS)]
            await send(message)

        body = _Body(receive, self.limits.get(scope["path"], 0), self.held)
        try:
            await self.app(scope, body, out)
        finally:
            self.held.bytes -= body.seen


@dataclass
class _Body:
    """The messages of a request, with its bytes counted."""

    receive: Receive
    limit: int
    held: Held
    seen: int = 0

    async def __call__(self) -> Message:
        message = await self.receive()
        if message["type"] == "http.request":
            size = len(message.get("body", b""))
            self.seen += size
            self.held.bytes += size
        if self.seen > self.limit:
            raise HTTPException(413, f"the request is larger than {self.limit:,} bytes")
        if self.held.bytes > MOST_HELD:
            raise HTTPException(503, "too many files at once: send it again in 2 s", {"retry-after": "2"})
        return message


@dataclass(frozen=True)
class OwnHosts:
    """An ASGI application around another that answers to addresses and to these host names only, and to its own pages.

    A foreign page gets at a server behind its reader's firewall by letting its own name point there: the browser
    takes the two for one, and sends that name as Host. An address is no name and cannot be made to point elsewhere.
    A foreign page that asks under its own name is told by the Origin that browsers send along.
    """

    app: ASGIApp
    names: frozenset[str]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        app = self.app
        if scope["type"] == "http" and ANY_HOST not in self.names:
            refused = self._refused(Headers(scope=scope))
            app = app if refused is None else refused
        await app(scope, receive, send)

    def _refused(self, headers: Headers) -> ASGIApp | None:
        given, origin = headers.get("host", ""), headers.get("origin")
        host = _host(given)
        if not (host in self.names or _is_address(host)):
            reason = f"this server is not called {host[:80]!r}: if it is, start it with that --name"
            return JSONResponse({"reason": reason}, 400)
        if origin is not None and not self._own(origin, given):
            reason = f"pages of {origin[:80]!r} may not ask this server: if it is called so, start it with that --name"
            return JSONResponse({"reason": reason}, 403)
        return None

    def _own(self, origin: str, host: str) -> bool:
        """Whether a page is of this server: under the host it asks for, or under a name behind a proxy."""
        try:
            found = urlsplit(origin.lower())
        except ValueError:
            return False
        behind = _host(found.netloc) in self.names - {LOCAL}
        return found.scheme in ("http", "https") and (found.netloc == host.lower() or behind)


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


def _encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers.items()]
