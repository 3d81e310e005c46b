"""Processes that a test starts, waits for and stops."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Final

from rocketwire.compat.brokers.watcher import Watcher

READY_WITHIN: Final = 180.0  # seconds; Apache's broker takes 2-4 here, many times as long on a busy machine
STOP_WITHIN: Final = 120.0


class EndpointError(Exception):
    """The endpoint did not start or stop as it should; the text ends with what it printed."""


class Process:
    """A program of the machine whose output is kept and can be waited for. It does not outlive this process."""

    def __init__(self, name: str, command: Sequence[str | Path], *, cwd: Path, env: Mapping[str, str]) -> None:
        self.name = name
        self.output: list[str] = []
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._process = subprocess.Popen(
            [str(part) for part in command],
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,  # a separate group, see _end_group
        )
        self._watcher = Watcher(self._process.pid)
        assert self._process.stdout is not None
        self._reader = threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True)
        self._reader.start()

    def _read(self, stream: IO[str]) -> None:
        for line in stream:
            self.output.append(line.rstrip("\n"))
            self._lines.put(line)
        self._lines.put(None)

    def wait_for(self, text: str, *, within: float) -> str:
        """The first line from now on that contains `text`; EndpointError when none comes within so many seconds."""
        end = time.monotonic() + within
        while (left := end - time.monotonic()) > 0:
            with contextlib.suppress(queue.Empty):
                line = self._lines.get(timeout=left)
                if line is None:
                    raise EndpointError(
                        f"{self.name} ended (code {self._process.wait()}) before it was ready: {self.tail()}"
                    )
                if text in line:
                    return line
        raise EndpointError(f"{self.name} printed no {text!r} within {within:.0f} s: {self.tail()}")

    @property
    def running(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def stop(self, number: int = signal.SIGTERM, *, within: float = STOP_WITHIN) -> int:
        """Send it a signal and return its exit code; killed, with EndpointError, when that takes over `within` s."""
        if self.running:
            self._process.send_signal(number)
        try:
            code = self._process.wait(within)
        except subprocess.TimeoutExpired as error:
            self._end_group()
            self._process.wait()
            raise EndpointError(f"{self.name} did not stop within {within:.0f} s: {self.tail()}") from error
        finally:
            self._end_group()
            self._watcher.end()
            self._reader.join(5)
            if self._process.stdout is not None:
                self._process.stdout.close()
        return code

    def _end_group(self) -> None:
        """Kill what the program started and left behind: it would hold the pipe that the reader waits for."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def tail(self, lines: int = 12) -> str:
        """The last lines it printed."""
        return "\n".join(self.output[-lines:]) or "(it printed nothing)"
