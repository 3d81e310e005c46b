"""An endpoint in a separate process, and the methods that block."""

from __future__ import annotations

import gc
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from bench.endpoints import measured, usage
from rocketwire.remoting import Credentials, Later, Message, Producer, PushConsumer, ReceivedMessage
from rocketwire.remoting.errors import AccessDenied, MessageInvalid, NoSuchTopic, NotReached, Refused
from rocketwire.testing import ControlRefused, Endpoint, NotInProcess, NotStarted, endpoint

REPOSITORY = Path(__file__).resolve().parents[2]
SECONDS = 60.0


@pytest.fixture(scope="module")
def ep() -> Iterator[Endpoint]:
    """One for the tests of this module: each uses other topics."""
    with endpoint(settings={"messageDelayLevel": "1s 5s 10s 30s 1m 2m 3m 4m 5m"}) as made:
        yield made


def bodies(messages: list[ReceivedMessage]) -> list[bytes]:
    return [each.body for each in messages]


def test_what_is_sent_is_received_in_its_order(ep: Endpoint) -> None:
    topic = ep.topic()
    for number in range(40):
        ep.send(topic, b"%d" % number)
    assert bodies(ep.receive(topic, count=3)) == [b"0", b"1", b"2"]
    assert bodies(ep.receive(topic, count=37)) == [b"%d" % number for number in range(3, 40)]
    assert ep.receive(topic, timeout=0) == []
    assert bodies(ep.receive(topic, count=2, group=ep.group())) == [b"0", b"1"]
    assert len(ep.messages(topic)) == 40


def test_a_message_has_what_it_was_given(ep: Endpoint) -> None:
    topic = ep.topic("Orders-of-one", 1)
    sent = ep.send(topic, "Bücher", tags="books", keys="ORDER-7", properties={"amount": "2"}, order_key="c")
    (message,) = ep.messages(topic)
    assert (message.body, message.tags, message.keys) == ("Bücher".encode(), "books", ("ORDER-7",))
    assert (message.properties["amount"], message.message_id, message.topic) == ("2", sent.message_id, topic)
    assert topic == "Orders-of-one"
    assert message.queue == sent.queue


def test_names_are_unique(ep: Endpoint) -> None:
    assert len({ep.group() for _ in range(3)} | {ep.topic() for _ in range(3)}) == 6


def test_receive_waits_for_messages_and_for_the_topic(ep: Endpoint) -> None:
    topic = ep.group("never-created-yet")
    with pytest.raises(NoSuchTopic):
        ep.receive(topic, timeout=0.1)
    sender = threading.Timer(0.3, lambda: [ep.send(topic, body) for body in ("one", "two")])
    sender.start()
    assert bodies(ep.receive(topic, count=2, timeout=SECONDS)) == [b"one", b"two"]
    sender.join()


def test_a_group_continues_where_its_members_are(ep: Endpoint) -> None:
    topic, group = ep.topic(queues=1), ep.group()
    ep.send(topic, "first")
    ep.send(topic, "second")
    assert bodies(ep.receive(topic, group=group)) == [b"first"]
    with PushConsumer(group, ep.namesrv) as consumer:
        consumer.subscribe(topic)
        consumed: list[bytes] = []

        def handle(message: ReceivedMessage) -> None:
            consumed.append(message.body)
            consumer.stop()

        consumer.run(handle)
    assert consumed == [b"second"]


@pytest.mark.parametrize("delay", [3600, timedelta(hours=1)])
def test_a_delay_passes_with_the_clock(ep: Endpoint, delay: timedelta | float) -> None:
    topic = ep.topic()
    ep.send(topic, "timer", delay=delay)
    ep.send(topic, "level", delay_level=9)
    assert ep.receive(topic, timeout=0.2) == []
    before = ep.clock.now()
    assert ep.clock.advance(minutes=30) >= before + 1_800_000
    assert bodies(ep.receive(topic, timeout=SECONDS)) == [b"level"]
    ep.clock.advance(timedelta(minutes=10), minutes=20)
    assert bodies(ep.receive(topic, timeout=SECONDS)) == [b"timer"]


def test_a_retry_passes_with_the_clock(ep: Endpoint) -> None:
    topic, group = ep.topic(), ep.group(retries=2)
    tried = threading.Semaphore(0)
    with PushConsumer(group, ep.namesrv, max_retries=2) as consumer:
        consumer.subscribe(topic)

        def handle(_: ReceivedMessage) -> Later:
            tried.release()
            return Later()

        ep.send(topic, "never good")
        consumer.start(handle)
        assert tried.acquire(timeout=SECONDS)
        until = time.monotonic() + SECONDS
        for _ in range(2):
            while not tried.acquire(timeout=0.2) and time.monotonic() < until:
                ep.clock.advance(minutes=10)  # again: the consumer may not have given it back yet
        assert bodies(ep.receive(f"%DLQ%{group}", timeout=SECONDS)) == [b"never good"]


@pytest.mark.parametrize("delay", [-1, timedelta(seconds=-1)])
def test_a_delay_that_is_none(ep: Endpoint, delay: timedelta | float) -> None:
    with pytest.raises(MessageInvalid):
        ep.send("T", "x", delay=delay)
    with pytest.raises(MessageInvalid):
        ep.send("T", "x", delay=1, delay_level=1)


def test_time_only_goes_forward(ep: Endpoint) -> None:
    with pytest.raises(ControlRefused, match="time only goes forward"):
        ep.clock.advance(seconds=-1)


def test_faults_come_and_go(ep: Endpoint) -> None:
    topic = ep.topic()
    with ep.faults.during(f"answer:2:on purpose,topic={topic},code=SEND_MESSAGE_V2") as (fault,):
        with pytest.raises(Refused, match="on purpose"):
            ep.send(topic, "x")
        (reported,) = ep.faults.list()
        assert (reported.id, reported.struck > 0, reported.rule) == (fault.id, True, fault.rule)
    ep.send(topic, "x")
    one, two = ep.faults.add("drop,topic=a", "drop,topic=b")
    ep.faults.remove(one)
    with ep.faults.during("drop,topic=c") as (gone,):
        ep.faults.remove(gone.id)
    assert ep.faults.list() == [two]
    ep.faults.clear()
    assert ep.faults.list() == []
    with pytest.raises(ControlRefused, match="no fault has the id"):
        ep.faults.remove(one)
    with pytest.raises(ControlRefused, match="frop is no action"):
        ep.faults.add("frop")


def test_a_topic_that_the_broker_does_not_create(ep: Endpoint) -> None:
    with pytest.raises(Refused, match="illegal characters"):
        ep.topic("a b")
    with pytest.raises(NoSuchTopic):
        ep.messages("nowhere")


def test_threads_share_it(ep: Endpoint) -> None:
    topic = ep.topic()

    def send() -> None:
        for number in range(20):
            ep.send(topic, b"%d" % number)

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    found = ep.receive(topic, count=80, timeout=SECONDS)
    for thread in threads:
        thread.join()
    assert sorted(bodies(found)) == sorted(b"%d" % number for number in range(20) for _ in range(4))


# --- with separate endpoints ---


def test_a_restart_keeps_addresses_messages_and_clock(tmp_path: Path) -> None:
    with endpoint(topics={"T": 2}, store=tmp_path / "store", faults=["drop,topic=none"]) as ep:
        addresses = ep.namesrv, ep.broker, ep.http
        ep.send("T", "before")
        ep.clock.advance(days=3)
        first, now = ep.pid, ep.clock.now()
        with Producer("p", ep.namesrv) as producer:
            ep.kill()
            assert not _pid(ep)
            with pytest.raises(NotReached):
                ep.clock.now()
            ep.restart()
            producer.send(Message("T", b"after a crash"))
        ep.restart()
        assert ep.pid not in {None, first}
        assert (ep.namesrv, ep.broker, ep.http) == addresses
        assert ep.clock.now() >= now
        assert bodies(ep.receive("T", count=2, timeout=SECONDS)) == [b"before", b"after a crash"]
        assert [each.rule for each in ep.faults.list()] == ["drop:request,topic=none"]
        assert "recovering" in ep.log
        log = ep.store.parent
    assert (log / "store" / "config").is_dir()  # the test's own
    assert not (log / "store" / "abort").exists()
    with endpoint(store=tmp_path / "store") as again:
        assert bodies(again.messages("T")) == [b"before", b"after a crash"]


def test_accounts() -> None:
    accounts = [
        {"accessKey": "application", "secretKey": "12345678", "defaultTopicPerm": "DENY", "topicPerms": ["Mine=PUB"]}
    ]
    with endpoint(acl=accounts, topics=["Mine", "Other"]) as ep:
        ep.send("Other", "the endpoint's client may do everything")
        account = Credentials(access_key="application", secret_key="12345678")
        with Producer("p", ep.namesrv, credentials=account) as producer:
            producer.send(Message("Mine", b"x"))
            with pytest.raises(AccessDenied):
                producer.send(Message("Other", b"x"))
        assert len(ep.receive("Other", timeout=1, count=2)) == 1


def test_the_error_has_the_reason_why_it_does_not_start() -> None:
    with pytest.raises(NotStarted, match=r"(?s)did not become ready.*nonsense: unknown key"):
        endpoint(settings={"nonsense": 1}).__enter__()
    with pytest.raises(NotStarted, match="did not become ready"):
        endpoint(start_seconds=0.0).__enter__()


def test_only_the_asynchronous_form_is_within_this_process() -> None:
    with pytest.raises(NotInProcess):
        endpoint(in_process=True).__enter__()


def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(NotStarted, match=f"port {port}: Address already in use"):
            endpoint(ports={"namesrv": port}).__enter__()


def _pid(ep: Endpoint) -> int | None:
    return ep.pid


# From a thread that ends: what the system offers for this ends with the thread.
KILLED = """
import sys, threading, time
from rocketwire.testing import endpoint
block = endpoint()
thread = threading.Thread(target=lambda: print(block.__enter__().pid, flush=True))
thread.start()
thread.join()
time.sleep(float(sys.argv[1]))
print(block._blocking.clock.now() > 0, flush=True)
time.sleep(600)
"""


def test_the_server_ends_with_the_process_even_if_that_is_killed() -> None:
    command = [sys.executable, "-c", KILLED, "0.2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY) as tests:
        assert tests.stdout is not None
        server = int(tests.stdout.readline())
        assert tests.stdout.readline() == "True\n"
        handle = os.pidfd_open(server)
        tests.send_signal(signal.SIGKILL)
    try:
        import select

        poll = select.poll()
        poll.register(handle, select.POLLIN)
        assert poll.poll(SECONDS * 1000), "the server outlives its tests"
    finally:
        os.close(handle)


ENDPOINTS = 10


@pytest.mark.slow
def test_nothing_remains_of_ten_endpoints() -> None:
    measured()  # what this process imports and keeps is loaded afterwards
    gc.collect()  # of tests before, too
    before = usage()
    threads = set(threading.enumerate())
    runs = [measured() for _ in range(ENDPOINTS)]
    after = usage(frozenset().union(*(each.ports for each in runs)))
    assert after == before
    assert set(threading.enumerate()) == threads


def test_resources_of_a_running_endpoint_are_found() -> None:
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
