"""What the kernel makes of any bytes, held against its Python twin and against construct's declarations.

Each oracle takes an input and raises AssertionError where they differ. The fuzzer calls them by the million; a test
calls them with the seeds and with whatever the fuzzer has found before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rocketwire.wire.message_id_hosts import replace_hosts
from tests.kernel.fuzz.calls import call_acks, call_deliveries, request_scan
from tests.kernel.fuzz.forwards import broker_answers, call_forwards
from tests.kernel.fuzz.http2 import http2
from tests.kernel.fuzz.json_lines import json_lines
from tests.kernel.fuzz.pulls import pulls
from tests.kernel.fuzz.sends import sends
from tests.kernel.relay.relay_support import NEW, OLD, rewritten


def id_hosts(data: bytes) -> None:
    """A header of any type, which is the first byte, with another host in its message ids."""
    serialize_type, text = (data[0], data[1:]) if data else (0, b"")
    assert rewritten(text, serialize_type) == replace_hosts(text, serialize_type, OLD, NEW)


ORACLES: Final[dict[str, Callable[[bytes], object]]] = {
    oracle.__name__: oracle
    for oracle in (
        sends,
        pulls,
        id_hosts,
        json_lines,
        http2,
        call_acks,
        request_scan,
        call_deliveries,
        call_forwards,
        broker_answers,
    )
}
