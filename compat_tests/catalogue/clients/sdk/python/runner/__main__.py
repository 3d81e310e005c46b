"""Runs programs with the Python client of 5.x: a line `Program?query` is one request, answered with JSON lines."""

from __future__ import annotations

import os
import platform
import sys

from runner import told
from runner.programs import PROGRAMS
from runner.request import Request


def main() -> None:
    """Serve the requests of standard input until it ends."""
    told.event("ready", python=platform.python_version())
    for line in sys.stdin:
        request = Request.parse(line)
        try:
            PROGRAMS[request.name](request)
        except Exception as problem:  # noqa: BLE001 - whatever it is, it is this program's
            told.failure("crashed", problem)
        told.event("done")
    os._exit(0)  # threads of consumers that are open must not keep the process


main()
