"""Connections to the server: how long each may keep it waiting, and how many there may be."""

import asyncio
import ipaddress
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST, MOST_OF_ONE = 512, 128
"""Connections in all, and from one address; a class behind one address has fewer."""
HEADERS, ANSWER, STOPPING = 10.0, 60.0, 1.0
"""Seconds until a request must be announced, until its answer must be taken, and until both end as the server stops.

A file may take 30 s to come, its turn 4 s and the work 8 s.
"""


class Connection(H11Protocol):
    """A connection that is closed when it keeps the server waiting, and that gives way where there are too many.

    Where there are more than `MOST`, or more than `MOST_OF_ONE` from one address, the one that has been without a
    request for longest is closed: silent connections shut nobody out. Where all are busy, the new one is.
    """

    clock: asyncio.TimerHandle | None = None
    request: Any = None
    """The request whose time is counted, if one is under way."""
    since = 0.0

    @property
    def busy(self) -> bool:
        """Whether a request is under way."""
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def network(self) -> str:
        """The address of the client; of version 6 the part that a household has for itself."""
        return _network(self.client[0]) if self.client else ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Let the connection in, in place of a silent one where there are too many."""
        super().connection_made(transport)
        self._count(HEADERS)
        everyone = {each for each in self.connections if isinstance(each, Connection)}
        neighbours = {each for each in everyone if each.network == self.network}
        if len(neighbours) > MOST_OF_ONE:
            self._make_room(neighbours)
        elif len(everyone) > MOST:
            self._make_room(everyone)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._stop()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Count the seconds anew when a request begins, and from the first bytes of one that is to begin."""
        super().handle_events()
        request = self.cycle if self.busy else None
        if self.clock is None or request is not self.request:
            self.request = request
            self._count(HEADERS if request is None else ANSWER)

    def on_response_complete(self) -> None:
        """Let the server's own limit for connections that are kept alive take over."""
        self._stop()
        self.request = None
        self.since = self.loop.time()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP; a request that it comes behind, or in the middle of, gets no answer any more."""
        if self.busy:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.abort()

    def shutdown(self) -> None:
        """Finish what was asked for, if that is soon; nobody waits for a request that is still coming."""
        super().shutdown()
        if self.busy and self.cycle.more_body:
            self.transport.abort()
        else:
            self._count(STOPPING)

    def _make_room(self, among: "set[Connection]") -> None:
        silent = [each for each in among if not each.busy]
        leaves = min(silent, key=lambda each: each.since, default=self)
        self.connections.discard(leaves)
        leaves.transport.abort()

    def _count(self, seconds: float) -> None:
        self._stop()
        self.since = self.loop.time()
        self.clock = self.loop.call_later(seconds, self.transport.abort)

    def _stop(self) -> None:
        if self.clock is not None:
            self.clock.cancel()
            self.clock = None


def _network(host: str) -> str:
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    return host if address.version == 4 else str(ipaddress.ip_network((address, 64), strict=False))
