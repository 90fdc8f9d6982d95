"""Which names a server answers to, by where it listens."""

import socket

import pytest
import uvicorn
from starlette.testclient import TestClient

from eitlens.web import run


@pytest.fixture
def asked(monkeypatch, run_folder):
    """The status of an answer of a server that listens on `host` when it is asked for by the name `name`."""
    monkeypatch.setattr(socket, "gethostname", lambda: "Lab7")
    monkeypatch.setattr(socket, "getfqdn", lambda: "lab7.example.org")
    made = []
    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: made.append((self.config.app, *sockets)))

    def ask(host, name):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        run.serve((str(run_folder),), host, port, "cpu", ())
        app, listener = made.pop()
        listener.close()
        client = TestClient(app, base_url="http://127.0.0.1")
        return client.get("/settings.json", headers={"host": f"{name}:{port}"}).status_code

    return ask


@pytest.mark.parametrize("name", ["lab7", "lab7.example.org", "lab7.local", "10.1.2.3", "localhost"])
def test_one_that_is_open_to_the_network_answers_to_this_machine(asked, name):
    assert asked("0.0.0.0", name) == 200


@pytest.mark.parametrize(("host", "name"), [("0.0.0.0", "evil.example"), ("127.0.0.1", "lab7")])
def test_no_other_name_is_answered(asked, host, name):
    assert asked(host, name) == 400


def test_other_machines_are_told_where_it_is(asked, capsys):
    asked("0.0.0.0", "lab7")
    assert "from other machines: http://Lab7:" in capsys.readouterr().err
    asked("127.0.0.1", "localhost")
    assert "other machines" not in capsys.readouterr().err
