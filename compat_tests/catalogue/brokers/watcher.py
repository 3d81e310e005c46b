"""Programs do not outlive the process that started them, however that one ends.

A shell holds the other end of a pipe, and ends the program's group of processes when the pipe is closed. Linux could
signal a program at its parent's end, but means the end of the thread that started it, which may come earlier.
"""

from __future__ import annotations

import subprocess
from typing import Final

# It reads what never comes. First the polite signal: podman and docker hand it on to the process in the container.
_PROGRAM: Final = 'read -r _; kill -s TERM -- "-$1"; sleep 5; kill -s KILL -- "-$1"'


class Watcher:
    """Ends a group of processes when this process has ended.

    Args:
        group: Its number, that of its first process.
    """

    def __init__(self, group: int) -> None:
        self._process = subprocess.Popen(
            ["sh", "-c", _PROGRAM, "watcher", str(group)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def end(self) -> None:
        """End it: the group has ended, and its number is free for others."""
        self._process.kill()
        self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()
