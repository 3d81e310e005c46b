"""Settings files that are pipes, or have no end."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from rocketwire.cli import environment
from rocketwire.cli.environment import MOST_BYTES, read_settings_file
from rocketwire.cli.errors import CommandError


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def test_a_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "broker.conf"
    for content in (b"", b"a=1\n", bytes(MOST_BYTES)):
        file.write_bytes(content)
        assert read_settings_file("-c", str(file)) == content
    assert read_settings_file("-c", os.devnull) == b""


def test_too_much_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "broker.conf"
    file.write_bytes(bytes(MOST_BYTES + 1))
    for path in (str(file), "/dev/zero"):
        with pytest.raises(CommandError, match=rf"-c {path}: longer than {MOST_BYTES} bytes"):
            read_settings_file("-c", path)


def test_a_pipe_is_read_until_it_is_closed(pipe: Path) -> None:
    def write() -> None:
        with pipe.open("wb", buffering=0) as file:
            for number in range(3):
                time.sleep(0.05)
                file.write(b"%d\n" % number)

    writer = threading.Thread(target=write)
    writer.start()
    assert read_settings_file("-c", str(pipe)) == b"0\n1\n2\n"
    writer.join()


def test_a_pipe_without_a_writer_is_one_line(pipe: Path) -> None:
    began = time.monotonic()
    with pytest.raises(CommandError, match=r"-c .*/pipe: nobody writes to it"):
        read_settings_file("-c", str(pipe))
    assert time.monotonic() - began >= environment.NO_WRITER_SECONDS


def test_a_silent_writer_is_waited_for_until_a_limit(
    pipe: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(environment, "SILENCE_SECONDS", 0.3)
    monkeypatch.setattr(environment, "_SAY_AFTER_SECONDS", 0.1)
    silent = os.open(pipe, os.O_RDWR)
    try:
        with pytest.raises(CommandError, match=r"it was not closed within 0\.3 s"):
            read_settings_file("-c", str(pipe))
    finally:
        os.close(silent)
    assert capsys.readouterr().err == "rocketwire: waiting for the settings file to end\n"
