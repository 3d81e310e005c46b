"""What the kernel's HTTP/2 connections make of any script of a client and a session, held against the twin's."""

from __future__ import annotations

from rocketwire import _kernel as kernel
from rocketwire.wire.http2.connection import PythonHttp2
from tests.wire.http2.script import Run


def http2(data: bytes) -> None:
    """A script, as tests/wire/http2/script.py reads it."""
    run = Run([PythonHttp2, kernel.Http2])
    run.carry_out(data)
    run.check()
