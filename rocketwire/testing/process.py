"""The server in a process of its own: started, stopped, killed. It ends with this process, however this one ends."""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final

from rocketwire.testing.errors import NotStarted

_ROOT: Final = Path(__file__).resolve().parents[2]
# The same code as here, wherever this process has it from.
_PROGRAM: Final = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from rocketwire.cli import main; sys.exit(main(sys.argv[1:]))"
)
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
        self._command = [sys.executable, "-P", "-c", _PROGRAM, str(_ROOT), "serve", *arguments]
        self._log = log
        self._start_seconds = start_seconds
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The number of the process that runs; None if none does."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start it, unless it runs; returns when it is ready.

        Raises:
            NotStarted: it ended, or took too long.
        """
        if self._process is not None and self._process.poll() is None:
            return
        self.kill()
        with self._log.open("ab") as log:
            self._process = process = subprocess.Popen(  # noqa: S603 - this very program
                [*self._command, "--json-ready", "--end-with", str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the tests: they stop it
            )
        assert process.stdout is not None  # noqa: S101 - a pipe
        ready = b""
        try:
            ready = _line(process.stdout, self._start_seconds)
        finally:
            if not ready:
                self.kill()
        if not ready:
            raise NotStarted(f"the server did not become ready; its log ends so:\n{self._tail()}")

    def stop(self) -> None:
        """Stop it cleanly, if it runs."""
        process = self._process
        if process is not None:
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
            self._forget(process)

    def kill(self) -> None:
        """Kill it, if it runs: what it had not written is lost to it, as in a crash."""
        process = self._process
        if process is not None:
            process.kill()
            self._forget(process)

    def _forget(self, process: subprocess.Popen[bytes]) -> None:
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
        self._process = None

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
