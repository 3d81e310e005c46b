"""The twin, held against h2: both say and send the same, whatever clients and sessions do."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocketwire.wire.http2.connection import Connection
from rocketwire.wire.http2.events import FAILED, Event, Http2
from rocketwire.wire.http2.messages import add_prefix
from tests.wire.http2.client import LIMITS, STREAM, Client, Make, request
from tests.wire.http2.oracle.connection import Connection as Oracle
from tests.wire.http2.scenarios.all import SCENARIOS, Scenario
from tests.wire.http2.script import Run, scripts
from tests.wire.http2.sound_clients import SoundClients
from tests.wire.http2.strategies import ANY_SCRIPTS, SCRIPTS_OF_STEPS


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_oracle_is_one(scenario: Scenario) -> None:
    scenario(Oracle)


def both(script: bytes) -> None:
    run = Run([Connection, Oracle])
    run.carry_out(script)
    run.check()


@pytest.mark.parametrize("script", list(scripts()))
def test_scripts_that_are_sound(script: bytes) -> None:
    both(script)


@given(SCRIPTS_OF_STEPS)
def test_scripts_of_steps(script: bytes) -> None:
    both(script)


@given(ANY_SCRIPTS)
def test_scripts_of_any_bytes(script: bytes) -> None:
    both(script)


class TwinAndOracle(SoundClients):
    makes = (Connection, Oracle)


TwinAndOracle.TestCase.settings = settings(max_examples=20, stateful_step_count=25, deadline=None)
test_sound_clients = pytest.mark.costly(TwinAndOracle.TestCase)


def _session() -> bytes:
    """What a client sends that does a little of everything."""
    client = Client(Connection)
    said = bytearray(client.h2.data_to_send())
    give = client.give

    def noted(data: bytes) -> list[Event]:
        said.extend(data)
        return give(data)

    client.give = noted  # type: ignore[method-assign] # listens in on what the client says
    for number in range(3):
        client.call(b"%d" % number, request(content_type="application/grpc", method="POST"))
    stream = client.open(request(STREAM))
    client.h2.send_data(stream, add_prefix(b"one") + add_prefix(bytes(200)), pad_length=9)
    client.h2.ping(bytes(8))
    client.echo(client.turn())
    client.h2.send_headers(client.open(), [("x-checksum", "1")], end_stream=True)
    client.h2.prioritize(stream, weight=3)
    client.h2.increment_flow_control_window(99, stream)
    client.h2.reset_stream(client.call(bytes(5000)))
    client.h2.end_stream(stream)
    client.turn()
    return bytes(said)


SESSION = _session()
_edits = st.lists(st.tuples(st.integers(0, len(SESSION) - 1), st.integers(0, 255)), max_size=3)
_cuts = st.lists(st.integers(0, len(SESSION)), max_size=6)


def events_of(server: Http2, pieces: list[bytes]) -> list[Event]:
    events: list[Event] = []
    for piece in pieces:
        events += server.receive(piece)
        server.output(1 << 16)
    return [(FAILED,) if event[0] == FAILED else event for event in events]


@given(_edits, _cuts)
def test_bytes_that_are_damaged(edits: list[tuple[int, int]], cuts: list[int]) -> None:
    data = bytearray(SESSION)
    for at, byte in edits:
        data[at] = byte
    pieces = [bytes(data[a:b]) for a, b in pairwise([0, *sorted(cuts), len(data)])]
    makes: tuple[Make, Make] = (Connection, Oracle)
    ours, theirs = (events_of(make(**LIMITS), pieces) for make in makes)
    both_last = min(len(events) - (events[-1:] == [(FAILED,)]) for events in (ours, theirs))
    assert ours[:both_last] == theirs[:both_last]
    if (FAILED,) not in ours + theirs:
        assert ours == theirs
