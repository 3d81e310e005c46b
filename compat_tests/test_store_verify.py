"""A store that a broker is writing has no damage, nor has one whose broker was killed."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from compat_tests.remoting import Connection, FrameRequest
from compat_tests.shared_store import SharedStore, assert_undamaged
from compat_tests.store_traffic import Load, create_topic
from compat_tests.store_view import GET_MAX_OFFSET
from compat_tests.waiting import wait_until
from rocketwire.compat.brokers.apache import ApacheNameServer
from rocketwire.store.offline.read.directory import StoreState

TOPIC: Final = "Verified"
QUEUES: Final = 3
# Apache names an index file by the millisecond, and overwrites one of 200 entries that was filled in less.
INDEX: Final = {"maxIndexNum": "5000"}


@pytest.mark.parametrize("version", ["4.9.7", "5.5.0", "rocketwire"])
def test_a_growing_store_and_a_killed_one_have_no_damage(
    tmp_path: Path, name_server: ApacheNameServer, version: str
) -> None:
    store = SharedStore(tmp_path, name_server)
    with store.rocketwire(**INDEX) if version == "rocketwire" else store.apache(version, **INDEX) as broker:
        with Connection(store.broker) as connection:
            create_topic(connection, TOPIC, QUEUES)
            load = Load(store.broker, TOPIC, "load", queues=QUEUES)
            for count in range(300, 2400, 300):
                load.wait_for(count)
                wait_for_queues(connection, count)
                summary = assert_undamaged(store.path)
                assert summary.state is StoreState.LIVE
                assert summary.records >= count
        broker.kill()
        load.join()
    assert summary.records <= (crashed := assert_undamaged(store.path)).records
    assert crashed.state is StoreState.CRASHED


def wait_for_queues(connection: Connection, count: int) -> None:
    """Return once the queues have so many messages: Apache's broker fills them behind the log."""
    queues = [FrameRequest(GET_MAX_OFFSET, {"topic": TOPIC, "queueId": queue}) for queue in range(QUEUES)]
    wait_until(lambda: sum(int(answer.fields["offset"]) for answer in connection.ask_all(queues)) >= count)
