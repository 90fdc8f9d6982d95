"""Files read and written alike on every machine, and errors of one line."""

import ast
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import eitlens
from eitlens import files
from eitlens.errors import InputError
from eitlens.files import (
    check_writable,
    copy_files,
    fresh,
    fresh_folder,
    read_json,
    write_atomically,
    write_json,
    write_together,
)

SOURCE = Path(eitlens.__file__).parent
CALLS = [
    (file, node)
    for file in sorted(SOURCE.rglob("*.py"))
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
]


def of_text(call: ast.Call) -> bool:
    """Whether a method reads or writes text by all appearances."""
    assert isinstance(call.func, ast.Attribute)
    mode = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else ""
    opens = call.func.attr == "open" and (mode in {"r", "w", "a", "x"} or _given(call, "newline"))
    return opens or call.func.attr in {"read_text", "write_text"}


def _given(call: ast.Call, name: str) -> bool:
    return any(keyword.arg == name for keyword in call.keywords)


def test_every_text_file_is_utf_8() -> None:
    """Without a word the machine's own encoding is used, ASCII or cp1252 on some, and τ cannot be read."""
    text = [(file, call) for file, call in CALLS if of_text(call)]
    assert len(text) > 15
    assert not [f"{file}:{call.lineno}" for file, call in text if not _given(call, "encoding")]


def test_what_was_written_is_read_on_a_machine_of_ascii(tmp_path: Path) -> None:
    write_json(tmp_path / "file.json", {"τ": "½"})
    code = "import sys, pathlib, eitlens.files as f; print(ascii(f.read_json(pathlib.Path(sys.argv[1]), dict, '')))"
    ascii_only = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-c", code, str(tmp_path / "file.json")]
    done = subprocess.run(command, env=ascii_only, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == (ascii({"τ": "½"}), "")


def build(values: dict[str, Any]) -> float:
    if values["tau"] == "unknown":
        raise InputError("tau must be known")
    return float(values["tau"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No such file or directory: make it again"),
        ("{", r"not a JSON file \(.*\): make it again"),
        (b"\xff", r"not a JSON file \(.*\): make it again"),
        ("[]", r"not as eitlens writes it \(TypeError.*\): make it again"),
        ("{}", r"not as eitlens writes it \(KeyError.*\): make it again"),
        ('{"tau": "a"}', r"not as eitlens writes it \(ValueError.*\): make it again"),
        ('{"tau": "unknown"}', "tau must be known"),
    ],
)
def test_what_is_wrong_with_a_json_file_is_one_line(
    tmp_path: Path, content: str | bytes | None, message: str
) -> None:
    path = tmp_path / "file.json"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=rf"^.*file\.json: {message}$"):
        read_json(path, build, "make it again")


def test_an_output_is_tried_before_the_work_and_nothing_is_left_behind(tmp_path: Path) -> None:
    source, link, folder = tmp_path / "data.npz", tmp_path / "link.npz", tmp_path / "folder.json"
    source.write_bytes(b"mine")
    link.symlink_to(source)
    folder.mkdir()
    before = sorted(tmp_path.rglob("*"))
    check_writable(tmp_path / "new/deep/image.png", source)
    check_writable(source)
    for path, told in (
        (source, "is the file that is read"),
        (link, "is the file that is read"),
        (folder, "is a folder"),
        (source / "image.png", "Not a directory"),
        (source / "deep/image.png", "Not a directory"),
    ):
        with pytest.raises(InputError, match=told):
            check_writable(path, source)
    assert sorted(tmp_path.rglob("*")) == before


def test_files_that_belong_together_come_together_or_not_at_all(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    write_together({first: b"1", second: b"2"})
    with pytest.raises(ZeroDivisionError), fresh(first, second) as (one, other):  # noqa: PT012
        one.write_bytes(b"new")
        other.write_bytes(b"new")
        raise ZeroDivisionError
    assert [file.read_bytes() for file in sorted(tmp_path.iterdir())] == [b"1", b"2"]


def test_threads_that_write_one_file_leave_one_of_their_contents(tmp_path: Path) -> None:
    path, contents = tmp_path / "file", [bytes([k]) * 100_000 for k in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda content: write_atomically(path, content), contents))
    assert path.read_bytes() in contents
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_gets_its_name_when_it_is_filled(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(ZeroDivisionError), fresh_folder(folder) as made:  # noqa: PT012
        (made / "half").touch()
        raise ZeroDivisionError
    assert list(tmp_path.rglob("*")) == [folder]
    with fresh_folder(folder) as made:
        (made / "whole").touch()
        assert not (folder / "whole").exists()
    assert list(tmp_path.rglob("*")) == [folder, folder / "whole"]


def test_half_a_folder_of_a_killed_process_is_removed_and_never_copied(tmp_path: Path) -> None:
    child = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    left = tmp_path / f".tmp.{files._host()}.{int(child.stdout)}.1.site"
    (left / "deep").mkdir(parents=True)
    half = left.with_name(f".tmp.{files._host()}.{int(child.stdout)}.1.a.json")
    half.touch()
    copy_files([half], tmp_path / "copy")
    assert list((tmp_path / "copy").iterdir()) == []
    files.remove_leftovers(tmp_path)
    assert list(tmp_path.iterdir()) == [tmp_path / "copy"]
