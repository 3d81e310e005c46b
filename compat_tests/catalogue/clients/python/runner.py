"""Runs programs with rocketwire's own client: a line `Program?query` is one request, answered with JSON lines."""

from __future__ import annotations

import logging
import sys

from rocketwire.compat.clients.python import output
from rocketwire.compat.clients.python.programs import PROGRAMS
from rocketwire.compat.clients.python.request import Request
from rocketwire.compat.clients.python.shared import serve

if __name__ == "__main__":
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    serve(PROGRAMS, Request, output.failure)
