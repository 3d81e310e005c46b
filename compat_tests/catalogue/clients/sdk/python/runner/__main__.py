"""Runs programs with the Python client of 5.x: a line `Program?query` is one request, answered with JSON lines."""

from __future__ import annotations

import os

from runner import output
from runner.programs import PROGRAMS
from runner.request import Request
from runner.shared import serve

serve(PROGRAMS, Request, output.failure)
os._exit(0)  # threads of consumers that are open must not keep the process
