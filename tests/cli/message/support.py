"""What the tests of `message` share: stdin, and a command in a separate process whose lines are read as they come."""

from __future__ import annotations

import io
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any, Self

import pytest

from tests.cli.store.support import Ran
from tests.server.processes import ROOT

SECONDS = 120.0
Rocketwire = Callable[..., Ran]


def exported(run: Rocketwire, topic: str) -> list[dict[str, Any]]:
    """The messages of a topic."""
    ran = run("message", "export", "--topic", topic)
    assert ran.code == 0
    return ran.objects


def give_stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    """Let the next command read this."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def heed_ctrl_c() -> None:
    """What a shell starts in the background ignores it, and so would the tests' processes."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Running:
    """`rocketwire` in a separate process."""

    def __init__(self, *arguments: object, stdin: int = subprocess.DEVNULL) -> None:
        self.popen = subprocess.Popen(
            [sys.executable, "-m", "rocketwire", *map(str, arguments)],
            cwd=ROOT,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=heed_ctrl_c,  # noqa: PLW1509 - sets a signal's handler, nothing else
            env={**os.environ, "PYTHONUNBUFFERED": ""},
        )
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._errors: queue.Queue[bytes] = queue.Queue()
        self._readers = [
            threading.Thread(target=self._read, args=each, daemon=True)
            for each in ((self.popen.stdout, self._lines), (self.popen.stderr, self._errors))
        ]
        for reader in self._readers:
            reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.popen.poll() is None:
            self.popen.kill()
        self.popen.wait(SECONDS)
        if self.popen.stdin is not None:
            self.popen.stdin.close()
        for reader in self._readers:
            reader.join(SECONDS)

    def line(self) -> str:
        """The next line of its output."""
        return self._lines.get(timeout=SECONDS).decode().rstrip("\n")

    def object(self) -> Any:
        """The next line, of JSON."""
        return json.loads(self.line())

    def error(self) -> str:
        """The next line of its stderr."""
        return self._errors.get(timeout=SECONDS).decode().rstrip("\n")

    def errors(self) -> list[str]:
        """The lines of its stderr that were printed and not taken."""
        found = []
        while not self._errors.empty():
            found.append(self.error())
        return found

    def ctrl_c(self) -> int:
        """Press Ctrl-C; the exit code."""
        self.popen.send_signal(signal.SIGINT)
        return self.popen.wait(SECONDS)

    @staticmethod
    def _read(stream: Any, lines: queue.Queue[bytes]) -> None:
        with stream:
            for line in stream:
                lines.put(line)
