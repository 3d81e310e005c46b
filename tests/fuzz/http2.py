"""A client and a session of the twin's HTTP/2 connections; tests/kernel/fuzz compares the kernel's with them."""

from __future__ import annotations

from rocketwire.wire.http2.connection import PythonHttp2
from tests.fuzz.part import Part, always
from tests.wire.http2.script import OPS, Run, scripts, step


def check(data: bytes) -> None:
    """Nothing raises, whatever the client sends and the session answers."""
    run = Run([PythonHttp2])
    run.carry_out(data)
    run.check()


PART = Part(
    opened=always(check),
    seeds=scripts,
    words=[
        *(step(op, 1, 1) for op in OPS),
        *(step("frame", 1, kind, 5, 4, data=bytes(4)) for kind in range(10)),
        *(b"\0\3", b"\0\4\0\0", b"\x3f\xe1\x1f", b"\x20", b"\xbe", b"\x82\x86\x84"),
    ],
)
