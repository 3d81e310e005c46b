"""Of `verify` and `repair`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rocketwire.cli import main
from tests.cli.store.terminal import Terminal
from tests.store.support import Golden


@pytest.fixture
def golden_copy(golden_497: Golden, tmp_path: Path) -> Path:
    return golden_497.copy(tmp_path)


def test_a_whole_store(golden_497: Golden, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["store", "verify", str(golden_497.untouched)]) == 0
    caught = capsys.readouterr()
    note, checked, found = caught.out.splitlines()
    assert note.startswith("note: consumequeue/GoldenDel/0, GoldenDel queue 0: missing: 1 messages")
    assert checked == ("931 records in 1.1 MiB of log, 930 queue entries, 1,831 index entries, 0 timer units")
    assert found == "at rest: the last broker stopped cleanly; no damage; notes: 1"
    assert caught.err == ""


def test_damage_is_a_line_and_exit_code_1(golden_copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = golden_copy / "commitlog" / ("0" * 20)
    data = bytearray(log.read_bytes())
    data[100] ^= 1
    log.write_bytes(data)
    assert main(["store", "verify", str(golden_copy)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"damage: commitlog/{log.name} at byte 0: ")
    assert "damage: " in lines[-1]
    assert main(["store", "verify", "--json", str(golden_copy)]) == 1
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (found[0]["kind"], found[0]["path"], found[0]["position"]) == ("damage", f"commitlog/{log.name}", 0)
    assert found[-1]["summary"]["damages"] == sum(each.get("kind") == "damage" for each in found)
    assert found[-1]["summary"]["state"] == "AT_REST"


def test_no_store_is_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["store", "verify", str(tmp_path / "nowhere")]) == 2
    assert main(["store", "verify", str(tmp_path)]) == 2
    caught = capsys.readouterr()
    assert caught.out == ""
    assert len(caught.err.splitlines()) == 2


@pytest.mark.parametrize("options", [[], ["--no-progress"]])
def test_a_terminal_gets_a_progress_bar(
    golden_497: Golden, options: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    assert main(["store", "verify", *options, str(golden_497.untouched)]) == 0
    assert bool(terminal.getvalue()) is not bool(options)
    assert len(capsys.readouterr().out.splitlines()) == 3


def damage(root: Path) -> None:
    log = root / "commitlog" / ("0" * 20)
    data = bytearray(log.read_bytes())
    data[100] ^= 1
    log.write_bytes(data)


def test_a_damaged_store_is_made_whole_beside_it(
    golden_copy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damage(golden_copy)
    assert main(["store", "repair", str(golden_copy), "--to", str(tmp_path / "new")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("damage: commitlog/")
    assert lines[-3:] == [
        f"930 records are in {tmp_path / 'new'}, each at the place it had",
        "1 part of the log, 310 bytes in all, held no record and was filled",
        "1 message of consume queues is lost",
    ]
    assert main(["store", "verify", str(tmp_path / "new")]) == 0


def test_a_doubtful_tag_is_reported(golden_copy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    queue = min((golden_copy / "consumequeue" / "GoldenNormal" / "0").iterdir())
    with queue.open("r+b") as file:
        file.seek(12)
        file.write(b"\0\0\0\0\1\2\3\4")
    assert main(["store", "repair", str(golden_copy), "--to", str(tmp_path / "new")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("damage: commitlog/")
    assert "GoldenNormal queue 0 offset 0: its record has the tag " in lines[0]
    assert "its queue entry the tags code 16909060" in lines[0]
    assert lines[2:] == ["1 message had another tag in the queue entry; now it is that of the record"]
    assert main(["store", "verify", str(tmp_path / "new")]) == 0


def test_json(golden_copy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damage(golden_copy)
    assert main(["store", "repair", "--json", str(golden_copy), "--to", str(tmp_path / "new")]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert found[-1] == {
        "summary": {"records": 930, "filled": 1, "filled_bytes": 310, "lost": 1, "retagged": 0, "rekeyed": 0}
    }
    assert found[-2]["what"] == "lost"


def test_what_cannot_be_done_is_one_line_and_exit_code_2(golden_copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["store", "repair", str(golden_copy), "--to", str(golden_copy / "new")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "must stand beside" in line
