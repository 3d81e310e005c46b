"""Endpoints one after the other leave nothing behind: no process, port, file, thread or descriptor."""

from __future__ import annotations

import gc
import threading

import pytest

from bench.endpoints import measured, usage

ENDPOINTS = 10


@pytest.mark.slow
def test_nothing_is_left_of_ten_endpoints() -> None:
    measured()  # what this process imports and keeps is there afterwards
    gc.collect()  # of tests before, too
    before = usage()
    threads = set(threading.enumerate())
    runs = [measured() for _ in range(ENDPOINTS)]
    after = usage(frozenset().union(*(each.ports for each in runs)))
    assert after == before
    assert set(threading.enumerate()) == threads


def test_what_is_there_while_one_runs_is_seen() -> None:
    from rocketwire.testing import endpoint

    measured()
    before = usage()
    with endpoint() as ep:
        ep.topic()
        port = int(ep.broker.rpartition(":")[2])
        during = usage(frozenset({port}))
        assert during.processes - before.processes == {ep.pid}
        assert during.descriptors > before.descriptors
        assert during.threads > before.threads
        assert during.folders - before.folders == {str(ep.store.parent)}
        assert during.ports == {port}
