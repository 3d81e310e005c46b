"""One server process that was started: the two ways to start one, and its signals."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final, Protocol

ROOT: Final = Path(__file__).resolve().parents[2]
"""Where the code lies: a server runs the same as this process, wherever that has it from."""
_PROGRAM: Final = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from rocketwire.cli import main; sys.exit(main(sys.argv[1:]))"
)
_REAPED_SECONDS: Final = 1.0
_LOOK_SECONDS: Final = 0.0005


class ServerRun(Protocol):
    """A server process."""

    @property
    def pid(self) -> int:
        """Its number."""
        ...

    @property
    def output(self) -> IO[bytes]:
        """What it prints."""
        ...

    def is_running(self) -> bool:
        """Whether it has not ended."""
        ...

    def send(self, number: signal.Signals) -> None:
        """Send it a signal; nothing if it has ended."""
        ...

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for its end, so long; whether it has ended."""
        ...

    def close(self) -> None:
        """Give back what this process needs to know of it. It has ended."""
        ...


class SpawnedServer:
    """A separate program: a child of this process."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    @property
    def output(self) -> IO[bytes]:
        """What it prints."""
        assert self._process.stdout is not None  # noqa: S101 - a pipe
        return self._process.stdout

    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def send(self, number: signal.Signals) -> None:
        """Send it a signal; nothing if it has ended."""
        self._process.send_signal(number)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for its end, so long; whether it has ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        return self._process.returncode is not None

    def close(self) -> None:
        """Close its output."""
        self.output.close()


def spawned(arguments: Sequence[str], *, log: int) -> SpawnedServer:
    """A server as a separate program; `arguments` are those of the command `rocketwire`."""
    return SpawnedServer(
        subprocess.Popen(  # noqa: S603 - this very program
            [sys.executable, "-P", "-c", _PROGRAM, str(ROOT), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,  # Ctrl-C is for the tests: they stop it
        )
    )


class ForkedServer:
    """A fork of this process's parent of servers (`forking.py`), which reaps it: known here by a descriptor (pidfd)."""

    def __init__(self, pid: int, descriptor: int, output: IO[bytes]) -> None:
        self._pid = pid
        self._descriptor = descriptor
        self._output = output

    @property
    def pid(self) -> int:
        """Its number."""
        return self._pid

    @property
    def output(self) -> IO[bytes]:
        """What it prints."""
        return self._output

    def is_running(self) -> bool:
        """Whether it has not ended."""
        return not self._has_ended(0)

    def send(self, number: signal.Signals) -> None:
        """Send it a signal; nothing if it has ended."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._descriptor, number)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for its end, so long; whether it has ended."""
        if not self._has_ended(seconds):
            return False
        # Until its parent has reaped it, and so nothing remains. A parent that was killed does not.
        until = time.monotonic() + _REAPED_SECONDS
        with contextlib.suppress(ProcessLookupError):
            while time.monotonic() < until:
                signal.pidfd_send_signal(self._descriptor, 0)
                time.sleep(_LOOK_SECONDS)
        return True

    def close(self) -> None:
        """Close the descriptor and its output."""
        os.close(self._descriptor)
        self._output.close()

    def _has_ended(self, seconds: float | None) -> bool:
        poll = select.poll()  # not select: descriptors may have large numbers
        poll.register(self._descriptor, select.POLLIN)
        return bool(poll.poll(None if seconds is None else seconds * 1000))
