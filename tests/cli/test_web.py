import socket

import pytest
from typer.testing import CliRunner

from eitlens.cli.main import app


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["export"], "give a network and -o"),
        (["export", "uit", "--web", "site"], "give a network and -o"),
        (["export", "nowhere", "-o", "file.txt"], ".onnx"),
        (["export", "nowhere", "-o", "file.onnx"], "nowhere"),
        (["serve", "--host", "256.256.256.256"], "cannot listen"),
        (["serve", "--model", "nowhere", "--port", "0"], "port"),
    ],
)
def test_mistakes_are_one_line(arguments, told):
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert told in result.output
    assert "Traceback" not in result.output


def test_a_port_in_use_is_told():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        result = CliRunner().invoke(app, ["serve", "--port", port])
    assert result.exit_code == 2
    assert f"port {port}" in result.output
