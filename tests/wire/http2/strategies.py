"""Scripts for properties: see `script`."""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st

from tests.wire.http2.script import OPS, step

_streams = st.one_of(st.sampled_from([1, 3, 5, 7]), st.integers(0, 255))
_steps = st.builds(
    lambda op, stream, rest: step(op, stream, data=rest), st.sampled_from(OPS), _streams, st.binary(max_size=12)
)
SCRIPTS_OF_STEPS: Final = st.lists(_steps, max_size=40).map(b"".join)
ANY_SCRIPTS: Final = st.binary(max_size=300)
