"""The server in a separate process: started, stopped, killed. It ends with this process, however this one ends."""

from __future__ import annotations

import os
import selectors
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final

from rocketwire.testing.errors import NotStarted
from rocketwire.testing.forker import NotForked, own_forker
from rocketwire.testing.running import ServerRun, spawned

_STOP_SECONDS: Final = 30.0
_TAIL_LINES: Final = 20


class ServerProcess:
    """One server process after the other, with the same arguments; their log goes to one file.

    Args:
        arguments: Of `rocketwire serve`.
        log: The file.
        start_seconds: How long a start may take.
    """

    def __init__(self, arguments: Sequence[str], log: Path, *, start_seconds: float) -> None:
        self._arguments = ["serve", *arguments]
        self._log = log
        self._start_seconds = start_seconds
        self._process: ServerRun | None = None

    @property
    def pid(self) -> int | None:
        """The number of the process that runs; None if none does."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start it, unless it runs; returns when it is ready.

        Raises:
            NotStarted: it ended, or took too long.
        """
        if self._process is not None and self._process.is_running():
            return
        self.kill()
        ready = b""
        try:
            self._process = process = self._started()
            ready = _line(process.output, self._start_seconds)
        finally:
            if not ready:
                self.kill()
        if not ready:
            raise NotStarted(f"the server did not become ready; its log ends so:\n{self._tail()}")

    def _started(self) -> ServerRun:
        arguments = [*self._arguments, "--json-ready", "--end-with", str(os.getpid())]
        with self._log.open("ab") as log:
            try:
                return own_forker().fork(arguments, log=log.fileno(), seconds=self._start_seconds)
            except NotForked:
                return spawned(arguments, log=log.fileno())

    def stop(self) -> None:
        """Stop it cleanly, if it runs."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Kill it, if it runs: what it had not written is lost to it, as in a crash."""
        self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> None:
        process = self._process
        if process is not None:
            process.send(number)
            if not process.wait(_STOP_SECONDS):
                process.send(signal.SIGKILL)
                process.wait()
            self._process = None
            process.close()

    def _tail(self) -> str:
        return "\n".join(self._log.read_text(encoding="utf-8", errors="replace").splitlines()[-_TAIL_LINES:])


def _line(stream: IO[bytes], seconds: float) -> bytes:
    """A line that a process prints in time; nothing if there is none, or the process ends."""
    until = time.monotonic() + seconds
    found = b""
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while not found.endswith(b"\n"):
            if not selector.select(max(0.0, until - time.monotonic())):
                return b""
            piece = os.read(stream.fileno(), 4096)
            if not piece:
                return b""
            found += piece
    return found
