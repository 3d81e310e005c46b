"""A group of 5.x is set back while its clients are on line: official SDKs get everything again, once.

The outcome of messages in flight then is checked for rocketwire only.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from compat_tests.endpoints import GRPC_TARGETS
from compat_tests.opened import opened
from compat_tests.proxied import APACHE_4, OURS, Proxied
from rocketwire.compat.brokers.endpoint import running
from rocketwire.compat.endpoint import Access
from rocketwire.compat.messages import Outgoing
from rocketwire.compat.sdk import push, simple
from rocketwire.remoting.admin.offsets import reset_to_time
from rocketwire.remoting.cluster import BlockingCluster

_JAVA: Final = "java-grpc-5.2.0"
_BODIES: Final = [f"message {number}" for number in range(20)]
_WITHIN: Final = 60.0
_QUIET: Final = 15.0


def _set_back(access: Access, topic: str, group: str) -> None:
    with BlockingCluster(access.namesrv) as cluster:
        for broker in cluster.brokers_of(topic).values():
            assert reset_to_time(broker, group, topic, 0) is not None


def _until(enough: Callable[[], bool], take: Callable[[], None]) -> None:
    """Take until there is enough, and then as long as more could come."""
    end = time.monotonic() + _WITHIN
    while not enough() and time.monotonic() < end:
        take()
    quiet = time.monotonic() + _QUIET
    while time.monotonic() < quiet:
        take()


def _pushed_again(access: Access) -> None:
    with opened(_JAVA, access) as case:
        topic, group = case.topic(4, kind="NORMAL"), case.consumers()
        got: Counter[str] = Counter()
        with push(case, topic, group) as listening:

            def take() -> None:
                got.update(event["text"] for event in listening.taken(0, settle=500))

            case.client.run("Publish", topic=topic, message=[Outgoing(body=body) for body in _BODIES])
            _until(lambda: len(got) == len(_BODIES), take)
            assert got == Counter(_BODIES)
            got.clear()
            _set_back(access, topic, group)
            _until(lambda: len(got) == len(_BODIES), take)
            assert got == Counter(_BODIES)


def test_a_push_consumer_gets_all_again_once(target: str, tmp_path: Path) -> None:
    if target not in GRPC_TARGETS:
        pytest.skip(f"{target} has nothing for clients of 5.x")
    with running(GRPC_TARGETS[target](tmp_path / "endpoint")) as endpoint:
        _pushed_again(Access(namesrv=endpoint.namesrv, grpc=endpoint.grpc))


@pytest.mark.usefixtures("only_rocketwire")
def test_what_a_simple_consumer_has_comes_once(tmp_path: Path) -> None:
    """Half of the messages are acknowledged, the others out, when the group is set back."""
    with running(GRPC_TARGETS["rocketwire"](tmp_path / "endpoint")) as endpoint:
        access = Access(namesrv=endpoint.namesrv, grpc=endpoint.grpc)
        with opened(_JAVA, access) as case:
            topic, group = case.topic(4, kind="NORMAL"), case.consumers()
            got: Counter[str] = Counter()
            with simple(case, topic, group) as consumer:
                case.client.run("Publish", topic=topic, message=[Outgoing(body=body) for body in _BODIES])
                first = consumer.receive(len(_BODIES), invisible=15)
                assert Counter(event["text"] for event in first) == Counter(_BODIES)
                assert consumer.ack(*first[::2]) == []
                _set_back(access, topic, group)

                def take() -> None:
                    more = consumer.rest(1.0, invisible=30)
                    got.update(event["text"] for event in more)
                    assert consumer.ack(*more) == []

                _until(lambda: len(got) == len(_BODIES), take)
                assert got == Counter(_BODIES)


@pytest.mark.usefixtures("only_rocketwire")
@pytest.mark.parametrize("kind", [APACHE_4, OURS])
def test_a_push_consumer_gets_all_again_once_through_a_proxy(kind: str, tmp_path: Path) -> None:
    with running(Proxied(tmp_path, kind=kind, brokers=1)) as cluster:
        address = cluster.proxy.namesrv  # the one port serves remoting and gRPC
        _pushed_again(Access(namesrv=address, grpc=address))
