"""Check by a server's `/readyz` whether it takes messages: `python -m rocketwire.health`, for containers.

A container engine runs it every few seconds, so this imports next to nothing: it takes 30 ms of processor time. The
command `rocketwire health`, which does the same, takes twice as much.
"""

from __future__ import annotations

import os
import socket
import sys
from typing import Final

VARIABLE: Final = "ROCKETWIRE_SERVE_HTTP"
"""Where the server serves health and metrics, HOST:PORT: the variable of `rocketwire serve --http`."""
DEFAULT: Final = "127.0.0.1:5557"
READY, NOT_READY, USAGE, UNREACHABLE = 0, 1, 2, 3

_SECONDS: Final = 4.0
_MOST_BYTES: Final = 64 * 1024
_THIS_MACHINE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 - where a server listens
_REQUEST: Final = b"GET /readyz HTTP/1.1\r\nHost: rocketwire\r\nConnection: close\r\n\r\n"


def check(address: str) -> tuple[int, str]:
    """Query the server at `address`, HOST:PORT, where a wildcard is this machine; takes 4 s at most.

    Returns:
        The exit code of a command, and a line: what the server answered, or why it did not.
    """
    host, _, port = address.strip().rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (port.isascii() and port.isdigit()):
        return USAGE, "expected HOST:PORT"
    try:
        answer = _answer(_THIS_MACHINE.get(host, host), int(port))
    except (OSError, OverflowError, UnicodeError) as error:
        return UNREACHABLE, str(getattr(error, "strerror", None) or error)
    head, _, body = answer.partition(b"\r\n\r\n")
    status = head.split(b"\r\n", 1)[0].split(b" ")
    if not head.startswith(b"HTTP/1.") or len(status) < 2:
        return UNREACHABLE, "the answer is not HTTP"
    text = " ".join(body.decode("utf-8", "replace").split())
    return READY if status[1] == b"200" else NOT_READY, text


def _answer(host: str, port: int) -> bytes:
    """The first 64 KiB of the answer, whose end is the connection's."""
    answer = b""
    with socket.create_connection((host, port), timeout=_SECONDS) as connection:
        connection.sendall(_REQUEST)
        while len(answer) < _MOST_BYTES and (piece := connection.recv(_MOST_BYTES)):
            answer += piece
    return answer


def main() -> int:
    """Check the server that `ROCKETWIRE_SERVE_HTTP` names and print a line; the exit code."""
    address = os.environ.get(VARIABLE) or DEFAULT
    code, line = check(address)
    print(f"{address}: {line}")  # noqa: T201 - shown with the container's health
    return code


if __name__ == "__main__":
    sys.exit(main())
