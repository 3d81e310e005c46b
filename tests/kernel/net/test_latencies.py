"""How long requests take that a hub serves without Python: which are counted, and in which bucket."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import Any

import pytest

from rocketwire import native
from rocketwire.wire.connection import RawFrame
from tests.kernel.net.hub_support import NOW, Session, frame, serve
from tests.kernel.net.test_hub_sends import Mixed
from tests.kernel.pull.pulls_support import PullCase, Twins, numbered, update
from tests.kernel.send.test_sends import BATCH, V2, batch, send

MS = 1_000_000


@pytest.fixture
def mixed() -> Iterator[Mixed]:
    made = Mixed()
    made.hub.timed = True
    yield made
    made.session.close()
    made.session.far.close()
    made.hub.close()


def bounds() -> tuple[int, ...]:
    assert native.kernel is not None
    found: tuple[int, ...] = native.kernel.LATENCY_BOUNDS_NS
    return found


def counts(hub: Any) -> dict[int, int]:
    """Requests by code; each is in the bucket of the sum, if all of a code were of one read."""
    found = {}
    for code, (buckets, total) in hub.take_latencies().items():
        found[code] = sum(buckets)
        assert len(buckets) == len(bounds()) + 1
        (bucket,) = [at for at, count in enumerate(buckets) if count]
        each = total / found[code]
        assert (0, *bounds())[bucket] < each <= (*bounds(), each)[bucket]
    return found


def test_bounds_grow_from_ten_microseconds_to_ten_seconds() -> None:
    found = bounds()
    assert (found[0], found[-1], len(found)) == (10_000, 10_000 * MS, 16)
    assert all(2.4 < above / below < 2.7 for below, above in itertools.pairwise(found))


def test_each_request_of_a_read_counts_its_time(mixed: Mixed) -> None:
    mixed.receive(send(opaque=1), send(opaque=2), send(opaque=3))
    assert counts(mixed.hub) == {V2: 3}
    assert mixed.hub.take_latencies() == {}
    mixed.rig.answer = lambda: (mixed.rig.queue, 0, b"", False)
    mixed.receive(send(opaque=4), batch(5), send(opaque=5))
    assert counts(mixed.hub) == {V2: 2, BATCH: 1}


def test_the_time_is_that_of_the_whole_read(mixed: Mixed) -> None:
    mixed.on(b"slow", lambda: time.sleep(0.02))
    mixed.receive(send(opaque=1), frame(b"slow"))
    ((buckets, total),) = mixed.hub.take_latencies().values()
    assert total > 20 * MS
    assert sum(buckets[8:]) == sum(buckets) == 1


def test_what_python_serves_is_not_counted(mixed: Mixed) -> None:
    mixed.rig.answer = lambda: None
    mixed.receive(send(opaque=1), frame(b"other"))
    assert mixed.hub.take_latencies() == {}


def test_what_waits_for_others_counts_from_its_arrival(mixed: Mixed) -> None:
    def request_yield(frames: list[RawFrame]) -> int | None:
        mixed.session.should_yield = bool(frames)
        return None

    mixed.session.on_serve = request_yield
    mixed.session.far.send(frame(b"first") + send(opaque=1))
    mixed.hub.ready()
    mixed.hub.round(NOW, 1.0)
    assert mixed.hub.take_latencies() == {}
    time.sleep(0.02)
    mixed.session.should_yield = False
    serve(mixed.hub)
    ((_, total),) = mixed.hub.take_latencies().values()
    assert total > 20 * MS


def test_nothing_is_counted_unless_it_is_wanted(mixed: Mixed) -> None:
    mixed.hub.timed = False
    mixed.receive(send(opaque=1))
    mixed.hub.timed = True
    assert mixed.hub.take_latencies() == {}


def test_pulls_and_offset_updates_count(tmp_path: Any) -> None:
    assert native.kernel is not None
    twins = Twins(numbered(tmp_path))
    hub = native.kernel.Hub(None, twins.pulls, RawFrame, lambda: NOW)
    hub.timed = True
    session = Session(hub)
    session.far.send(PullCase().frame() + PullCase(code=361).frame() + update() * 3)
    serve(hub)
    assert counts(hub) == {11: 1, 361: 1, 15: 3}
    session.close()
    session.far.close()
    hub.close()
