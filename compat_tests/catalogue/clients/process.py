"""The process of a client that runs one program after another.

Starting a client costs more than most programs take, so one process lives long: each line of its standard input names
a program and its arguments, and is answered with JSON lines, the last of which is "done". A process that does not
answer in time is killed, and its owner starts a new one.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import IO, Any, Final
from urllib.parse import urlencode

from rocketwire.compat.brokers.processes import READY_WITHIN
from rocketwire.compat.brokers.watcher import Watcher
from rocketwire.compat.messages import Event, Outgoing

Argument = str | int | Iterable[str] | Iterable[int] | Iterable[Outgoing]
_TAIL: Final = 8000  # bytes of a log that are kept as evidence
_CLOSE_SECONDS: Final = 20.0  # seconds that a process gets to end without a signal


class ProgramFailed(Exception):
    """A client's program threw, or did not end in time; the text has the place."""


class Runner:
    """One process of one client, that runs programs in sequence."""

    def __init__(self, label: str, command: Sequence[str]) -> None:
        """Start it; `label` names the client in errors. It need not be ready: the first program waits for that."""
        self._label = label
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._errors = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 - closed in close()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            encoding="utf-8",
            env={**os.environ, "LC_ALL": "C.UTF-8"},
            start_new_session=True,  # Ctrl-C is for the program that owns it, which ends it in order
        )
        self._watcher = Watcher(self._process.pid)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests = self._process.stdin
        self._answers = self._process.stdout
        self._reader = threading.Thread(target=self._read, args=(self._answers,), daemon=True)
        self._reader.start()
        self._is_ready = False
        self._ended = False

    def _read(self, stream: IO[str]) -> None:
        with contextlib.suppress(ValueError):  # closed
            for line in stream:
                self._lines.put(line)
        self._lines.put(None)

    @property
    def running(self) -> bool:
        """Whether it can take a program: one that closed its output cannot, though it may take a while to end."""
        return not self._ended and self._process.poll() is None

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def run(
        self,
        program: str,
        arguments: Mapping[str, Argument],
        *,
        within: float,
        watch: Callable[[Event], None] | None = None,
    ) -> list[Event]:
        """What the program printed, each event also given to `watch` as soon as it came.

        Raises ProgramFailed when it threw or did not end `within` so many seconds.
        """
        if not self._is_ready:
            self._next(time.monotonic() + READY_WITHIN)
            self._is_ready = True
        try:
            self._requests.write(f"{program}?{urlencode(_flat(arguments), doseq=True)}\n")
            self._requests.flush()
        except (OSError, ValueError):
            raise ProgramFailed(f"{self._label}: its process ended: {self.log()}") from None
        end = time.monotonic() + within
        events: list[Event] = []
        while (event := self._next(end, events))["event"] != "done":
            events.append(event)
            if watch is not None:
                watch(event)
        if crashes := [event for event in events if event["event"] == "crashed"]:
            raise ProgramFailed(f"{program} ({self._label}): {crashes[0]}")
        return events

    def _next(self, end: float, so_far: Sequence[Event] = ()) -> dict[str, Any]:
        try:
            line = self._lines.get(timeout=max(0.0, end - time.monotonic()))
        except queue.Empty:
            self.kill()
            raise ProgramFailed(f"{self._label}: nothing more came in time; so far: {list(so_far)[-5:]}") from None
        if line is None:
            self._ended = True
            raise ProgramFailed(f"{self._label}: its process ended: {self.log()}")
        event: dict[str, Any] = json.loads(line)
        return event

    def log(self, begin: int = 0) -> str:
        """What it wrote to its standard error from the byte `begin` on, the end of it if it is long."""
        if self._errors.closed:
            return ""
        size = self.log_size()
        self._errors.seek(max(begin, size - _TAIL))
        return self._errors.read()

    def log_size(self) -> int:
        """How many bytes it has written to its standard error; 0 once it is closed."""
        return 0 if self._errors.closed else os.fstat(self._errors.fileno()).st_size

    def signal_end(self) -> None:
        """Kill it, from any thread; its owner still closes it."""
        self._process.terminate()  # podman hands this on to the process in the container, and a JVM ends at once
        self._lines.put(None)

    def kill(self) -> None:
        """End it at once; its log stays."""
        self._end(0)

    def close(self) -> None:
        """End it at its next request, or by a signal when that takes long."""
        self._end(_CLOSE_SECONDS)
        self._errors.close()

    def _end(self, within: float) -> None:
        with contextlib.suppress(OSError):
            self._requests.close()
        try:
            self._process.wait(within)
        except subprocess.TimeoutExpired:
            self._process.terminate()  # podman hands the signal on to the process in the container
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._watcher.end()
        self._reader.join(5)
        self._answers.close()


def _flat(arguments: Mapping[str, Argument]) -> list[tuple[str, str]]:
    pairs = []
    for key, value in arguments.items():
        many = [value] if isinstance(value, str | int) else list(value)
        pairs += [(key, item.query() if isinstance(item, Outgoing) else str(item)) for item in many]
    return pairs
