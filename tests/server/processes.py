"""Servers as processes, for behaviour that only a process has: signals, limits, exit codes."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

from rocketwire.wire.connection import FrameReader
from rocketwire.wire.frame import Frame, encode_frame
from rocketwire.wire.header import Header, decode_header
from tests.server.harness import free_port, pull_ext, records, send_ext, topic_ext

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 120.0
"""A start takes one second of work, and more on a busy machine."""


class Process:
    """`rocketwire serve` on free ports; `module`: what runs instead of `rocketwire`, with its arguments."""

    def __init__(
        self,
        store: Path,
        *options: str,
        name_server: str | None = None,
        broker: str | None = None,
        before: Callable[[], None] | None = None,
        module: Sequence[str] = ("rocketwire",),
    ) -> None:
        self.port = free_port()
        self.name_server = name_server or f"127.0.0.1:{free_port()}"
        self.broker = broker or f"127.0.0.1:{self.port}"
        command = [sys.executable, "-m", *module, "serve", "--namesrv", self.name_server, "--broker", self.broker]
        settings = {
            "fastRemoting": "false",
            "grpcListen": "none",
            "maxHashSlotNum": "1000",
            "maxIndexNum": "4000",
            # The use of the machine's disk does not concern a test.
            "diskSpaceWarningLevelRatio": "100",
            "diskSpaceCleanForciblyRatio": "100",
            # Nor does the time that a busy machine takes for a write, or for its disk.
            "brokerFastFailureEnable": "false",
            "syncFlushTimeout": "60000",
        }
        for name, value in settings.items():
            command += ["--set", f"{name}={value}"]
        # A file: it is not read while the server runs, and a full pipe would stop the server.
        self._errors = os.memfd_create("stderr")
        weakref.finalize(self, os.close, self._errors)
        self.popen = subprocess.Popen(
            [*command, "--store", str(store), *options],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            preexec_fn=before,  # noqa: PLW1509 - sets a limit or a user id, nothing else
            text=True,
        )

    @property
    def pid(self) -> int:
        return self.popen.pid

    def wait_ready(self) -> str:
        """The line with the addresses at which it listens."""
        assert self.popen.stdout is not None
        ready, _, _ = select.select([self.popen.stdout], [], [], START_SECONDS)
        line: str = self.popen.stdout.readline() if ready else ""
        assert "ready" in line, f"not ready: {line!r} {self.end(signal.SIGKILL)}"
        return line

    def end(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """Send a signal; exit code and stderr."""
        if self.popen.poll() is None:
            self.popen.send_signal(number)
        return self.result()

    def result(self) -> tuple[int, str]:
        """Exit code and stderr of a process that ends without a signal."""
        self.popen.communicate(timeout=START_SECONDS)
        return self.popen.returncode, os.pread(self._errors, os.fstat(self._errors).st_size, 0).decode()

    def anonymous(self) -> int:
        """Resident bytes that are not pages of files."""
        return anonymous(self.pid)


def open_files(pid: int) -> int:
    """How many files and sockets a process has open."""
    return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())


def anonymous(pid: int) -> int:
    """Resident bytes of a process that are not pages of files."""
    (line,) = [each for each in Path(f"/proc/{pid}/status").read_text().splitlines() if each.startswith("RssAnon:")]
    return int(line.split()[1]) * 1024


@contextlib.contextmanager
def process(store: Path, *options: str, **more: Any) -> Iterator[Process]:
    """A server process that is ready; killed at the end if it is still there."""
    made = Process(store, *options, **more)
    try:
        made.wait_ready()
        yield made
    finally:
        if made.popen.poll() is None:
            made.popen.kill()
        made.popen.communicate()


class Caller:
    """A blocking client."""

    def __init__(self, address: str, *, timeout: float = START_SECONDS) -> None:
        host, _, port = address.rpartition(":")
        self.sock = socket.create_connection((host.strip("[]"), int(port)), timeout=timeout)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._reader = FrameReader()
        self._frames: list[Frame] = []
        self._opaque = 0

    def close(self) -> None:
        self.sock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def frame(self, code: int, ext: dict[str, str] | None = None, body: bytes = b"") -> bytes:
        self._opaque += 1
        return encode_frame(Header(code=code, opaque=self._opaque, version=407, ext=ext), body)

    def write(self, data: bytes) -> None:
        self.sock.sendall(data)

    def receive(self) -> Frame:
        while not self._frames:
            data = self.sock.recv(1 << 18)
            if not data:
                raise ConnectionResetError
            frames, error = self._reader.receive(memoryview(data))
            assert error is None
            self._frames += [
                Frame(decode_header(each.header, each.serialize_type), bytes(each.body), each.serialize_type)
                for each in frames
            ]
        return self._frames.pop(0)

    def request(self, code: int, ext: dict[str, str] | None = None, body: bytes = b"") -> Frame:
        self.write(self.frame(code, ext, body))
        return self.receive()

    def create_topic(self, topic: str, queues: int = 1) -> None:
        assert self.request(17, topic_ext(topic, queues)).header.code == 0

    def send(self, topic: str, body: bytes = b"body", **changes: Any) -> Frame:
        return self.request(310, send_ext(topic, **changes), body)

    def bodies(self, topic: str, queue_id: int = 0) -> list[bytes]:
        """All bodies of a queue."""
        found: list[bytes] = []
        while True:
            answer = self.request(11, pull_ext(topic, len(found), queue_id=queue_id))
            if answer.header.code:
                assert answer.header.remark in {"OFFSET_OVERFLOW_ONE", "NO_MESSAGE_IN_QUEUE"}
                return found
            found += [message.body for message in records(answer.body)]


def work_of(pid: int) -> float:
    """Seconds of processor time that a process has used, to the microsecond."""
    return time.clock_gettime((~pid << 3) | 2)  # its clock's number, as clock_getcpuclockid gives it


@contextlib.contextmanager
def work_for_others(
    pid: int, address: str, call: Callable[[Caller], object], *, pause: float = 0.005
) -> Iterator[list[float]]:
    """Send requests of a client without pause; the seconds of work that the process does until each answer.

    The processor time of a process, which the other processes of a busy machine do not increase.
    """
    took: list[float] = []
    stops = threading.Event()

    def run() -> None:
        with Caller(address) as caller:
            while not stops.is_set():
                began = work_of(pid)
                call(caller)
                took.append(work_of(pid) - began)
                time.sleep(pause)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield took
    finally:
        stops.set()
        thread.join()


def eventually(condition: Callable[[], bool], seconds: float = START_SECONDS) -> bool:
    """Whether a condition becomes true in time."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True
