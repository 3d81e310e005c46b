"""No text of others reaches a terminal with control characters in it, whatever command prints it."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import TextIO, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.cli import main
from rocketwire.cli.terminal import EscapingStream, drawing, escape_controls, escaping_terminals
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from tests.cli.endpoint import Answers, FakeAnswer, fake_server, real_endpoint
from tests.cli.store.terminal import Terminal

HOSTILE = "\x1b]0;title\x07\x1b[2J\x9b31m\u202egnp.exe\r"
SHOWN = "\\x1b]0;title\\x07\\x1b[2J\\x9b31m\\u202egnp.exe\\r"


@given(st.text())
def test_an_escaped_text_has_nothing_that_a_terminal_acts_upon(text: str) -> None:
    escaped = escape_controls(text)
    assert all(character in "\t\n" or not _acts(character) for character in escaped)
    if not any(map(_acts, text)):
        assert escaped == text


def _acts(character: str) -> bool:
    import unicodedata

    direction = unicodedata.bidirectional(character) in {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    return character not in "\t\n" and (direction or unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"})


def test_texts_and_bytes_are_escaped_in_their_order() -> None:
    terminal = Terminal()
    stream = EscapingStream(terminal)
    print("a\x1b", file=stream)
    stream.buffer.write("é\x1b".encode() + b"\xff\n")
    stream.writelines(["b\x07", "\n"])
    assert terminal.getvalue() == "a\\x1b\né\\x1b\\xff\nb\\x07\n"
    assert (stream.isatty(), drawing(cast("TextIO", stream))) == (True, terminal)


def test_a_file_and_a_pipe_are_not_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", plain := io.StringIO())
    with escaping_terminals():
        assert sys.stdout is plain
        assert drawing(sys.stdout) is plain


def test_texts_of_a_name_server_are_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    out, err = Terminal(), Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    lies: Answers = {
        RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: lambda _: FakeAnswer(
            code=ResponseCode.SYSTEM_ERROR, remark=HOSTILE
        )
    }
    with fake_server(lies) as server:
        assert main(["topic", "list", "--namesrv", server.address]) == 1
    assert SHOWN.removesuffix("\\r") in err.getvalue()
    assert "\x1b" not in out.getvalue() + err.getvalue()


@pytest.mark.slow
def test_a_message_on_a_real_terminal(tmp_path: Path) -> None:
    with real_endpoint(tmp_path) as addresses:
        server = str(addresses.name_server)
        send = [sys.executable, "-m", "rocketwire", "message", "send", "Topic", "--namesrv", server]
        subprocess.run([*send, HOSTILE, "--tag", "t\x1b[2J"], check=True, capture_output=True)
        sent = subprocess.run([*send, HOSTILE], check=True, capture_output=True, text=True)
        get = ["message", "get", sent.stdout.split()[0], "--topic", "Topic", "--namesrv", server]
        assert SHOWN in on_terminal([*get, "--body"])
        assert "\x1b" not in on_terminal(get)
        assert HOSTILE in on_terminal([*get, "--body", "--raw"])
        piped = subprocess.run([sys.executable, "-m", "rocketwire", *get, "--body"], check=True, capture_output=True)
        assert piped.stdout.decode() == HOSTILE


def on_terminal(arguments: list[str]) -> str:
    """What a command writes to a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([sys.executable, "-m", "rocketwire", *arguments], stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        written = bytearray()
        while True:
            try:
                written += os.read(ours, 65536)
            except OSError:  # on Linux the other end is closed
                break
        os.close(ours)
        assert process.wait(30) == 0
    return written.decode()
