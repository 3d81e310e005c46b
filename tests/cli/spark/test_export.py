"""The command's options, endings and texts; tests/spark/export has what it does, compat_tests/spark what Spark does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rocketwire.cli import main
from tests.spark.export.runs import Session, ids_of
from tests.store.support import draft, open_store, small


class FakeSession:
    """Takes the place of the one that starts Spark."""

    def __init__(self, master: str, log: Path) -> None:
        self.master, self.log = master, log

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def short_errors(self) -> Any:
        return self

    def started(self) -> Session:
        return Session()


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("rocketwire.cli.spark.session.SparkRun", FakeSession)
    opened = open_store(small(tmp_path / "store"))
    opened.append([draft(number, topic="Orders" if number % 2 else "%DLQ%g") for number in range(20)])
    opened.close()
    return tmp_path / "store"


def run(*arguments: object) -> int:
    return main(["spark", "export", *map(str, arguments)])


def test_new_messages_are_counted(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(store, "--to", tmp_path / "to") == 0
    first = capsys.readouterr()
    assert first.out.startswith("10 messages exported; files: 1, ")
    assert run(store, "--to", tmp_path / "to", "--no-progress") == 0
    assert capsys.readouterr().out == "there is no new message\n"
    assert len(ids_of(tmp_path / "to")) == 10


def test_json_has_the_numbers(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(store, "--to", tmp_path / "to", "--json") == 0
    reported = json.loads(capsys.readouterr().out)
    assert (reported["messages"], reported["files"], reported["damaged"]) == (10, 1, 0)
    assert reported["bytes"] > 0


@pytest.mark.parametrize(
    ("options", "count"),
    [
        (("--all-topics",), 20),
        (("--topic", "%DLQ%g"), 10),
        (("--topic", "%DLQ%g", "--topic", "Orders", "--columns", "message_id,tags", "--compression", "none"), 20),
        (("--since", "2020", "--until", "2030"), 10),
        (("--since", "2030"), 0),
    ],
)
def test_options_choose_messages(store: Path, tmp_path: Path, options: tuple[str, ...], count: int) -> None:
    assert run(store, "--to", tmp_path / "to", *options) == 0
    assert len(ids_of(tmp_path / "to")) == count


def test_a_table_gets_the_files(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deltalake = pytest.importorskip("deltalake")
    assert run(store, "--to", tmp_path / "to", "--format", "delta") == 0
    assert deltalake.DeltaTable(str(tmp_path / "to")).to_pyarrow_table().num_rows == 10
    assert run(store, "--to", tmp_path / "to") == 2
    assert "format" in capsys.readouterr().err


def test_damage_has_a_separate_exit_code(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = min((store / "commitlog").iterdir())
    content = bytearray(log.read_bytes())
    content[content.index(b"body-7")] ^= 1
    log.write_bytes(content)
    assert run(store, "--to", tmp_path / "to") == 1
    said = capsys.readouterr()
    assert said.out.startswith("9 messages")
    assert said.err.startswith(f"rocketwire: {log} at physical offset ")


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("STORE", "--since", "soon"), "--since soon: expected ISO 8601"),
        (("STORE", "--topic", "Order"), "Did you mean Orders?"),
        (("STORE", "--columns", "bodi"), "bodi"),
        (("nowhere",), "there is no such directory"),
        (("STORE", "--format", "iceberg"), "Give --table NAMESPACE.NAME"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], what: str
) -> None:
    assert run(*(store if one == "STORE" else one for one in arguments), "--to", tmp_path / "to") == 2
    said = capsys.readouterr().err
    assert what in said
    assert said.count("\n") == 1


def test_the_missing_extra_is_named(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("rocketwire.cli.spark.session.find_spec", lambda name: None if name == "pyarrow" else object())
    assert run(store, "--to", tmp_path / "to") == 2
    assert capsys.readouterr().err == "rocketwire: pyarrow is not installed: pip install 'rocketwire[spark]'\n"


def test_ctrl_c_ends_it(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(FakeSession, "started", interrupted)
    assert run(store, "--to", tmp_path / "to") == 130
    assert not list((tmp_path / "to" / "_rocketwire").glob("run-*"))


def test_the_command_line_loads_nothing_of_spark() -> None:
    code = "import sys; from rocketwire.cli import main\n"
    code += "main(['spark', 'export', '--help'])\n"
    code += (
        "print([name for name in ('pyspark', 'pyarrow', 'pandas', 'numpy', 'rocketwire.spark') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
