"""Headers that a client repeats, all or the first of them, are read as if they came for the first time."""

from __future__ import annotations

from typing import Any

import pytest
from hpack import Encoder
from hyperframe.frame import DataFrame, HeadersFrame
from hypothesis import example, given
from hypothesis import strategies as st

from rocketwire import native
from rocketwire.wire.http2.connection import PythonHttp2
from rocketwire.wire.http2.messages import add_prefix
from tests.wire.http2.client import LIMITS, PREFACE, STREAM, request

kernel: Any = native.kernel
BASE = request()
NAMES = ("x-mq-client-id", "x-mq-request-id", "x-mq-date-time", "content-length", "te", "UPPER", ":late")
VALUES = ("a", "b", "6", "trailers", "a\n")


def variants() -> st.SearchStrategy[list[tuple[str, str]]]:
    fields = st.tuples(st.sampled_from(NAMES), st.sampled_from(VALUES))
    odd = [request(STREAM), request("/other"), request("/o\n"), request(""), request(method="GET")]
    first = st.sampled_from([BASE, BASE[:-1], BASE[:5], BASE[:2], *odd])
    return st.builds(lambda start, more: [*start, *more], first, st.lists(fields, max_size=2))


few = st.lists(variants(), min_size=1, max_size=4).flatmap(
    lambda kinds: st.lists(st.sampled_from(kinds), min_size=1, max_size=10)
)


def read(heads: list[list[tuple[str, str]]], server: Any, *, ends: bool, tables: bool = True) -> list[Any]:
    """The events of calls with these headers, which tables may have, and what the connection holds after each."""
    encoder = Encoder()
    said: list[Any] = [server.receive(PREFACE)]
    for number, head in enumerate(heads):
        stream = 2 * number + 1
        block = encoder.encode([(name, value, not tables) for name, value in head])
        frames = HeadersFrame(stream, block, flags=["END_HEADERS"]).serialize()
        flags = ["END_STREAM"] if ends else []
        frames += DataFrame(stream, add_prefix(b"x"), flags=flags).serialize()
        said += [[event[:4] if event[0] != 5 else event[:2] for event in server.receive(frames)], server.heads]
        if said[-2] and said[-2][-1][0] == 5:
            break
    return said


@given(few, st.booleans(), st.booleans())
@example([[*request(method="GET"), ("content-length", "6")]], True, True)  # answered before its data comes
@example([[(":method", "POST"), ("content-length", "a")]], False, True)
@example([[*BASE, ("content-length", "a\n")]], False, True)
@example([[*BASE, ("content-length", "6"), ("content-length", "06")]], True, True)
@example([[*BASE, ("content-length", "6"), ("content-length", "7")]], True, True)
def test_they_are_read_as_the_twin_reads_them(heads: list[list[tuple[str, str]]], ends: bool, tables: bool) -> None:
    ours, twins = (
        read(heads, server, ends=ends, tables=tables) for server in (kernel.Http2(**LIMITS), PythonHttp2(**LIMITS))
    )
    assert ours == twins


def test_many_headers() -> None:
    more = [(f"x-{number}", "v") for number in range(40)]
    heads = [[*BASE, *more], [*BASE, *more], [*BASE, *more[:3]], BASE, BASE]
    assert read(heads, kernel.Http2(**LIMITS), ends=True) == read(heads, PythonHttp2(**LIMITS), ends=True)


@pytest.mark.parametrize("tables", [True, False])
def test_calls_share_their_headers(tables: bool) -> None:
    said = read([BASE, BASE, BASE], kernel.Http2(**LIMITS), ends=True, tables=tables)
    first, second, third = (said[at][0][3] for at in (1, 3, 5))
    assert first is second is third
