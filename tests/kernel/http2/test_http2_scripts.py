"""The kernel's `Http2` and the Python one report and send the same, whatever clients and sessions do."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.kernel.fuzz.http2 import http2
from tests.wire.http2.script import OPS, step

_streams = st.one_of(st.sampled_from([1, 3, 5, 7]), st.integers(0, 255))
_steps = st.builds(
    lambda op, stream, rest: step(op, stream, data=rest), st.sampled_from(OPS), _streams, st.binary(max_size=12)
)


@given(st.lists(_steps, max_size=40).map(b"".join))
def test_scripts_of_steps(script: bytes) -> None:
    http2(script)
