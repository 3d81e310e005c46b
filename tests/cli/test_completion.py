"""What the shells complete: by their protocol, and in a real bash."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rocketwire.cli import main, parameter_types
from rocketwire.cli.run import COMPLETE
from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.route import TopicList
from rocketwire.wire.facts.codes import RequestCode
from tests.cli.endpoint import FakeAnswer, FakeServer, fake_server

ROOT = Path(__file__).resolve().parents[2]
TOPICS = ("Orders", "OrdersPaid", "Users", "%RETRY%orders", "%RETRY%mail")
Complete = Callable[..., list[str]]


@pytest.fixture
def complete(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Complete:
    """What bash is answered for these words, of which the last is completed."""

    def complete_words(*words: str) -> list[str]:
        monkeypatch.setenv(COMPLETE, "bash_complete")
        monkeypatch.setenv("COMP_WORDS", "\n".join(("rocketwire", *words)))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        assert main([]) == 0
        caught = capsys.readouterr()
        assert caught.err == ""
        return caught.out.split()

    return complete_words


@pytest.fixture
def server() -> Iterator[FakeServer]:
    topics = encode_body(TopicList(topic_list=TOPICS))
    with fake_server({RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: lambda _: FakeAnswer(body=topics)}) as made:
        yield made


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["s"], ["plain,serve", "plain,show", "plain,store", "plain,spark"]),
        (["--v"], ["plain,--version"]),
        (["store", "re"], ["plain,repair"]),
        (["store", "ls", ""], ["dir,"]),
        (["serve", "-c", "br"], ["file,br"]),
        (["serve", "--log-format", ""], ["plain,console", "plain,json"]),
        (["serve", "--log-level", "=", "w"], ["plain,warning"]),
        (["serve", "--set", "flushdisk"], ["plain,flushDiskType="]),
        (["completion", ""], ["plain,bash", "plain,zsh", "plain,fish"]),
        (["spark", "export", "data", "--comp"], ["plain,--compression"]),
    ],
)
def test_commands_options_and_values_are_completed(words: list[str], found: list[str], complete: Complete) -> None:
    assert complete(*words) == found


def test_topics_and_groups_are_the_endpoints(complete: Complete, server: FakeServer) -> None:
    # Bash makes three words of HOST:PORT.
    line = ("message", "export", "--namesrv", "127.0.0.1", ":", str(server.port), "--topic")
    assert complete(*line, "Or") == ["plain,Orders", "plain,OrdersPaid"]
    assert complete("timer", "ls", "--namesrv", server.address, "--topic", "U") == ["plain,Users"]
    assert complete("group", "check", "--namesrv", server.address, "") == ["plain,mail", "plain,orders"]


def test_the_endpoint_may_be_that_of_the_environment_or_a_profile(
    complete: Complete, server: FakeServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ROCKETWIRE_NAMESRV", server.address)
    assert complete("group", "check", "m") == ["plain,mail"]
    monkeypatch.delenv("ROCKETWIRE_NAMESRV")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "rocketwire").mkdir()
    (tmp_path / "rocketwire" / "profiles.toml").write_text(f'[here]\nnamesrv = "{server.address}"\n')
    assert complete("group", "check", "--profile", "here", "m") == ["plain,mail"]
    assert complete("group", "check", "--profile", "there", "m") == []


def test_a_missing_or_silent_endpoint_gets_a_second(complete: Complete, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = "{}:{}".format(*silent.getsockname())
        monkeypatch.setattr(parameter_types, "SECONDS", 0.3)
        began = time.monotonic()
        assert complete("message", "export", "--namesrv", f"{address};{address};{address}", "--topic", "") == []
        assert time.monotonic() - began < 60
    assert complete("message", "export", "--namesrv", address, "--topic", "") == []
    assert complete("message", "export", "--namesrv", "nowhere", "--topic", "") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_its_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert f"{COMPLETE}={shell}_complete" in script
    if shutil.which(shell) is not None:
        subprocess.run([shell, "-n"], input=script, text=True, check=True)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A folder with the program `rocketwire`."""
    folder = tmp_path / "bin"
    folder.mkdir()
    made = folder / "rocketwire"
    made.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m rocketwire "$@"\n')
    made.chmod(0o755)
    return folder


class Bash:
    """An interactive bash with a terminal."""

    def __init__(self, program: Path, home: Path) -> None:
        self.shown = ""
        environment = {"PATH": f"{program}:{os.environ['PATH']}", "HOME": str(home), "TERM": "dumb", "COLUMNS": "200"}
        self._leader, follower = pty.openpty()
        self._process = subprocess.Popen(
            ["bash", "--norc", "-i"], stdin=follower, stdout=follower, stderr=follower, env=environment,
            start_new_session=True,
        )  # fmt: skip
        os.close(follower)

    def type(self, keys: str, until: str) -> None:
        """Type, and read until the terminal has shown a text since."""
        begun = len(self.shown)
        os.write(self._leader, keys.encode())
        deadline = time.monotonic() + 60
        while until not in self.shown[begun:]:
            assert time.monotonic() < deadline, self.shown
            if select.select([self._leader], [], [], 1)[0]:
                self.shown += os.read(self._leader, 4096).decode(errors="replace")

    def close(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        os.close(self._leader)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_a_real_bash_completes(program: Path, tmp_path: Path, server: FakeServer) -> None:
    with contextlib.closing(Bash(program, tmp_path)) as bash:
        bash.type("source <(rocketwire completion bash); echo do''ne\n", until="done\r\n")
        bash.type("rocketwire mes\t", until="message ")
        bash.type(f"exp\t--namesrv {server.address} --topic Us\t", until="--topic Users ")
        bash.type("\x15rocketwire serve --set flushDisk\t", until="flushDiskType=")
        bash.type("SYNC_FLUSH --log-level=war\t", until="--log-level=warning ")
        assert "flushDiskType=SYNC_FLUSH" in bash.shown
