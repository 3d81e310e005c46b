"""Running the command line: commands that end, and commands whose lines are read as they come."""

from __future__ import annotations

import json
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import IO, Any, Final, NamedTuple, Self

WITHIN: Final = 120.0


class Ran(NamedTuple):
    """A command that ended."""

    code: int
    out: str
    err: str

    @property
    def objects(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


class Rocketwire:
    """The command line with the address of a name server, of a kind of brokers."""

    def __init__(self, namesrv: str, kind: str = "rocketwire") -> None:
        self.namesrv = namesrv
        self.kind = kind

    def __call__(self, *arguments: object, given: bytes = b"") -> Ran:
        program = [sys.executable, "-m", "rocketwire", *map(str, arguments), "--namesrv", self.namesrv]
        ran = subprocess.run(program, input=given, capture_output=True, check=False, timeout=240)
        return Ran(ran.returncode, ran.stdout.decode(), ran.stderr.decode())

    def started(self, *arguments: object) -> Running:
        return Running([*map(str, arguments), "--namesrv", self.namesrv])


class Running:
    """A command that runs, whose lines are read as they come."""

    def __init__(self, arguments: list[str]) -> None:
        self.popen = subprocess.Popen(
            [sys.executable, "-m", "rocketwire", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - nothing else
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self._errors: queue.Queue[str] = queue.Queue()
        pairs = (self.popen.stdout, self._lines), (self.popen.stderr, self._errors)
        self._readers = [threading.Thread(target=self._read, args=pair, daemon=True) for pair in pairs]
        for reader in self._readers:
            reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.popen.kill()
        self.popen.wait(WITHIN)
        for reader in self._readers:
            reader.join(WITHIN)

    def line(self) -> str:
        """The next line of the output."""
        return self._lines.get(timeout=WITHIN)

    def error(self) -> str:
        """The next line of stderr."""
        return self._errors.get(timeout=WITHIN)

    def ctrl_c(self) -> int:
        """Press Ctrl-C; the exit code."""
        self.popen.send_signal(signal.SIGINT)
        return self.popen.wait(WITHIN)

    @staticmethod
    def _read(stream: IO[bytes], lines: queue.Queue[str]) -> None:
        with stream:
            for line in stream:
                lines.put(line.decode().rstrip("\n"))


def eventually(ran: Callable[[], Ran], good: Callable[[Ran], bool] = lambda ran: ran.code == 0) -> Ran:
    """The output of a command once that is good."""
    end = time.monotonic() + WITHIN
    while not good(last := ran()):
        assert time.monotonic() < end, last
        time.sleep(0.3)
    return last
