"""A store that a broker is writing has no damage, nor has one whose broker was killed."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Final

import pytest

from compat_tests.apache import ApacheNameServer
from compat_tests.remoting import Connection
from compat_tests.shared_store import SharedStore
from compat_tests.store_traffic import Load, create_topic
from rocketwire.store.archive.directory import State, discover
from rocketwire.store.archive.findings import Finding, Kind
from rocketwire.store.archive.verify import Summary, verify

TOPIC: Final = "Verified"
QUEUES: Final = 3
# Apache names an index file by the millisecond, and overwrites one of 200 entries that was filled in less.
INDEX: Final = {"maxIndexNum": "5000"}


def verified(root: Path) -> Summary:
    """What was looked at, in a store without damage."""
    found: list[Finding] = []
    summary = verify(discover(str(root)), found.append)
    assert not [str(each) for each in found if each.kind is Kind.DAMAGE]
    return summary


@pytest.mark.parametrize("version", ["4.9.7", "5.5.0", "rocketwire"])
def test_a_growing_store_and_a_killed_one_have_no_damage(
    tmp_path: Path, name_server: ApacheNameServer, version: str
) -> None:
    store = SharedStore(tmp_path, name_server)
    with store.rocketwire(**INDEX) if version == "rocketwire" else store.apache(version, **INDEX) as broker:
        with Connection(store.broker) as connection:
            create_topic(connection, TOPIC, QUEUES)
        load = Load(store.broker, TOPIC, "load", queues=QUEUES)
        seen = []
        for count in range(300, 2400, 300):
            load.wait_for(count)
            summary = verified(store.path)
            assert summary.state is State.LIVE
            seen.append(summary.records)
        assert all(before < after for before, after in itertools.pairwise(seen))
        broker.kill()
        load.join()
    summary = verified(store.path)
    assert summary.state is State.CRASHED
    assert summary.records >= seen[-1]
