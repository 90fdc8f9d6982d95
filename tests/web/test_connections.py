"""Clients that send nothing, little or half, many at once: they keep nobody else waiting and leave no trace."""

import contextlib
import logging
import socket
import struct
import time
from urllib.parse import urlsplit

import httpx
import pytest

from eitlens.web import connections, guard

PATIENCE = 5.0
HALF = (
    b"POST /api/drawing HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Content-Length: 1000\r\n\r\n{"
)


@pytest.fixture
def connect(address):
    """Open a connection to the server and send something."""
    with contextlib.ExitStack() as stack:

        def connected(sent=b""):
            made = stack.enter_context(socket.create_connection((urlsplit(address).hostname, _port(address))))
            made.settimeout(PATIENCE)
            made.sendall(sent)
            return made

        yield connected


def _port(address):
    return urlsplit(address).port


def _closed(one):
    """Whether the server closes the connection, instead of answering or waiting."""
    try:
        return one.recv(1) == b""
    except ConnectionError:
        return True


def _open(one):
    one.setblocking(False)
    with pytest.raises(BlockingIOError):
        one.recv(1)
    return True


def test_silent_connections_give_way_to_newer_ones(address, connect, monkeypatch):
    monkeypatch.setattr(connections, "MOST_OF_ONE", 4)
    silent = [connect() for _ in range(6)]
    assert httpx.get(f"{address}/settings.json").status_code == 200
    assert [_closed(one) for one in silent[:3]] == [True] * 3
    assert _open(silent[-1])


def test_busy_ones_stay_and_the_newcomer_goes(address, connect, monkeypatch):
    busy = [connect(HALF) for _ in range(3)]
    assert httpx.get(f"{address}/settings.json").status_code == 200  # the server has seen them
    monkeypatch.setattr(connections, "MOST", 3)
    assert _closed(connect())
    assert all(_open(one) for one in busy)


@pytest.mark.parametrize("sent", [b"", b"GET / HT"])
def test_a_request_that_is_not_announced_in_time_is_not_waited_for(connect, monkeypatch, sent):
    monkeypatch.setattr(connections, "HEADERS", 0.1)
    assert _closed(connect(sent))


def test_letters_that_drip_do_not_buy_time(connect, monkeypatch):
    monkeypatch.setattr(connections, "HEADERS", 0.3)
    one = connect()
    with contextlib.suppress(ConnectionError):
        for _ in range(100):
            one.sendall(b"G")
            time.sleep(0.02)
    with pytest.raises(ConnectionError):
        one.sendall(b"G")


def test_a_request_that_stays_half_is_not_waited_for(connect, monkeypatch):
    monkeypatch.setattr(connections, "ANSWER", 0.1)
    assert _closed(connect(HALF))


def test_a_client_that_hangs_up_is_no_error(address, connect, caplog):
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            one = connect(HALF)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            one.close()
        assert httpx.get(f"{address}/settings.json").status_code == 200
    assert not caplog.records


def test_a_request_that_turns_into_nonsense_is_refused_without_a_trace(address, connect, caplog):
    chunked = (
        HALF.replace(b"Content-Length: 1000", b"Transfer-Encoding: chunked").removesuffix(b"{")
        + b"1\r\n{\r\n"
    )
    with caplog.at_level(logging.WARNING):
        assert connect(chunked + b"zzz\r\n").recv(12) == b"HTTP/1.1 400"
        behind = connect(b"GET /settings.json HTTP/1.1\r\nHost: localhost\r\n\r\n\x00\x00\r\n\r\n")
        assert behind.recv(8) in (b"HTTP/1.1", b"")
        assert httpx.get(f"{address}/settings.json").status_code == 200
    assert not [record for record in caplog.records if record.exc_info or record.levelno >= logging.ERROR]


def test_a_household_of_version_six_is_one_address():
    same = {connections._network(host) for host in ("2001:db8::1", "2001:db8::2%eth0", "2001:db8:0:0:9::")}
    assert len(same) == 1
    assert connections._network("10.0.0.1") != connections._network("10.0.0.2")


@pytest.mark.parametrize("path", ["/", "/js/main.js", "/settings.json"])
def test_head_is_get_without_its_body(client, path):
    head, got = client.head(path), client.get(path)
    assert head.status_code == 200
    assert head.headers["content-length"] == got.headers["content-length"]
    assert not head.content


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://127.0.0.1", 200),
        ("http://127.0.0.1:8001", 403),
        ("http://localhost", 403),
        ("https://evil.example", 403),
        ("null", 403),
        ("http://[", 403),
    ],
)
def test_pages_of_others_are_refused(client, origin, status):
    assert client.get("/settings.json", headers={"origin": origin}).status_code == status


def test_all_bodies_together_are_limited(client, monkeypatch):
    monkeypatch.setattr(guard, "MOST_HELD", 1000)
    kind = {"content-type": "application/octet-stream"}
    answers = [client.post("/api/measurement", content=bytes(2000), headers=kind) for _ in range(2)]
    assert [one.status_code for one in answers] == [503, 503]
    assert "retry-after" in answers[0].headers
    small = client.post("/api/measurement?client=me&models=", content=bytes(900), headers=kind)
    assert small.status_code == 422  # what was refused is no longer held
