"""Runs programs with rocketwire's own client: a line `Program?query` is one request, answered with JSON lines."""

from __future__ import annotations

import logging
import platform
import sys

from rocketwire.compat.clients.python import told
from rocketwire.compat.clients.python.programs import PROGRAMS
from rocketwire.compat.clients.python.request import Request


def main() -> None:
    """Serve the requests of standard input until it ends."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    told.event("ready", python=platform.python_version())
    for line in sys.stdin:
        request = Request.parse(line)
        try:
            PROGRAMS[request.name](request)
        except Exception as problem:  # noqa: BLE001 - whatever it is, it is this program's
            told.failure("crashed", problem)
        told.event("done")


if __name__ == "__main__":
    main()
