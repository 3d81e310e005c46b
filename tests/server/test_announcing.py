"""How programs learn that a server is ready, and its addresses."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rocketwire import __version__
from rocketwire.server import announcing
from rocketwire.server.announcing import NotAnnounced, ServerAddresses, ready_reporter
from rocketwire.server.configuration import ServerConfig
from rocketwire.wire.addresses import Address
from tests.server.harness import small_config

NAME_SERVER = Address(host="127.0.0.1", port=40001)
BROKER = Address(host="broker.example", port=40003)
HTTP = Address(host="0.0.0.0", port=40005)
GRPC = Address(host="127.0.0.1", port=40007)


def addresses(tmp_path: Path, **more: Address) -> ServerAddresses:
    return ServerAddresses(config=config(tmp_path), name_server=NAME_SERVER, broker=BROKER, **more)


def config(tmp_path: Path, **changes: Any) -> ServerConfig:
    return replace(small_config(tmp_path / "store"), **changes)


def test_programs_get_one_line_of_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(announcing, "machine_address", lambda *, ipv6: "192.0.2.7")
    with ready_reporter(config(tmp_path, json_ready=True)) as report:
        report(addresses(tmp_path, http=HTTP, grpc=GRPC))
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line) == {
        "namesrv": "127.0.0.1:40001",
        "broker": "broker.example:40003",
        "http": "192.0.2.7:40005",
        "grpc": "127.0.0.1:40007",
        "store": str(tmp_path / "store"),
        "pid": os.getpid(),
        "version": __version__,
    }


def test_without_http_its_address_is_null_and_the_store_is_absolute(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with ready_reporter(ServerConfig(json_ready=True)) as report:
        report(ServerAddresses(config=ServerConfig(), name_server=NAME_SERVER, broker=BROKER))
    line = json.loads(capsys.readouterr().out)
    assert (line["http"], line["store"]) == (None, str(tmp_path / "data"))


def test_the_file_exists_while_the_server_is_ready(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "ports.json"
    file.write_text("of a server that was killed")
    with ready_reporter(config(tmp_path, port_file=str(file))) as report:
        assert not file.exists()
        report(addresses(tmp_path))
        assert json.loads(file.read_text())["namesrv"] == "127.0.0.1:40001"
        assert [each.name for each in tmp_path.iterdir()] == ["ports.json"]
        assert stat.S_IMODE(file.stat().st_mode) & 0o444
    assert not file.exists()
    assert capsys.readouterr().out.startswith("rocketwire ready: ")


def test_a_file_that_cannot_be_written_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "missing" / "ports.json"
    with (
        pytest.raises(NotAnnounced, match=f"^--port-file {file} cannot be written: No such file or directory$"),
        ready_reporter(config(tmp_path, port_file=str(file))) as report,
    ):
        report(addresses(tmp_path))
    assert capsys.readouterr().out == ""


def test_an_output_that_cannot_be_written_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "ports.json"
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr("sys.stdout", full)
        with (
            pytest.raises(NotAnnounced, match=r"^the output cannot be written: No space left on device$"),
            ready_reporter(config(tmp_path, port_file=str(file))) as report,
        ):
            report(addresses(tmp_path))
        monkeypatch.undo()
    assert not file.exists()
