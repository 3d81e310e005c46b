"""Processes of servers under test: start, stop, and their memory from /proc."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

STOP_SECONDS = 30


class ServerFailedError(Exception):
    """A server did not start, or stopped unexpectedly; the text is one line with its last output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Bytes a process holds now.

    `rss` counts every resident page, mapped store files too; `private` only anonymous pages (heaps, stacks),
    the memory that only the process's end frees.
    """

    rss: int
    private: int


def parse_smaps_rollup(text: str) -> Memory:
    """Read the text of /proc/PID/smaps_rollup (its figures are in KiB)."""
    values = {
        words[0]: int(words[1]) * 1024
        for line in text.splitlines()
        if len(words := line.split()) == 3 and words[0].endswith(":") and words[2] == "kB"
    }
    return Memory(rss=values["Rss:"], private=values["Anonymous:"])


def cpu_seconds(pid: int) -> float:
    """Processor time that a process has had, its own and the system's for it."""
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def allow_open_files() -> None:
    """Let this process and those it starts open as many files as the system allows it: connections are files."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class Server:
    """A process with its output in a file."""

    def __init__(
        self, command: Sequence[str | Path], *, cwd: Path, log: Path, env: Mapping[str, str] | None = None
    ) -> None:
        self.name = log.stem
        self._log = log
        with log.open("ab") as output:
            self.spawned_at = time.monotonic()
            self._process = subprocess.Popen(
                [str(part) for part in command], cwd=cwd, env={**os.environ, **(env or {})},
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def require_running(self) -> None:
        """Raise ServerFailedError when the process has ended."""
        if self._process.poll() is not None:
            lines = self._log.read_text("utf-8", "replace").strip().splitlines()
            last = lines[-1] if lines else "it said nothing"
            raise ServerFailedError(f"{self.name} ended with exit code {self._process.returncode}: {last}")

    def memory(self) -> Memory:
        """Memory now. Raises ServerFailedError when the process has ended."""
        self.require_running()
        return parse_smaps_rollup(Path(f"/proc/{self.pid}/smaps_rollup").read_text("ascii"))

    def stop(self) -> None:
        """Have it end; kill it when it has not after STOP_SECONDS."""
        if self._process.poll() is not None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
