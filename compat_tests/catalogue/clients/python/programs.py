"""The programs that rocketwire's own client offers, by name."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from rocketwire.compat.clients.python import output
from rocketwire.compat.clients.python.request import Request
from rocketwire.compat.clients.python.shared import event
from rocketwire.remoting import (
    Begin,
    Later,
    Producer,
    PullConsumer,
    PushConsumer,
    Queue,
    ReceivedMessage,
    RemotingError,
)

_LONG: Final = 120  # seconds that anything is waited for which comes sooner or later
_PATIENCE: Final = 30.0  # seconds for an answer
Handler = Callable[[ReceivedMessage], Later | None]


class ListenerThrew(Exception):
    """A handler fails as its message requests."""


class Inbox:
    """Counts and prints what consumers receive, and waits for it."""

    def __init__(self) -> None:
        self._count = 0
        self._changed = threading.Condition()

    def take(self, by: str, message: ReceivedMessage) -> None:
        """Print a message, and count it."""
        output.received(by, message)
        with self._changed:
            self._count += 1
            self._changed.notify_all()

    def handler(self, by: str) -> Handler:
        """A handler that takes messages."""
        return lambda message: self.take(by, message)

    def await_count(self, wished: int, seconds: int, settle: int) -> None:
        """Wait until so many messages came, or the seconds are over; then `settle` ms for any too many."""
        with self._changed:
            self._changed.wait_for(lambda: self._count >= wished, seconds)
        time.sleep(settle / 1000)

    def await_all(self, request: Request) -> None:
        """Wait for what the request counts."""
        self.await_count(request.number("count"), request.number("wait", _LONG), request.number("settle", 300))


def _producer(request: Request) -> Producer:
    return Producer(
        request.text("producerGroup", "compat_producer"),
        request.text("namesrv"),
        credentials=request.credentials,
        timeout=_PATIENCE,
        retries=request.number("retries", 2),
        max_message_size=request.number("maxMessageSize", 4 << 20),
    )


@contextlib.contextmanager
def _consuming(request: Request, handler: Handler, *, group: str = "", sql: str | None = None) -> Iterator[None]:
    """A push consumer that has begun."""
    consumer = PushConsumer(
        group or request.text("group"),
        request.text("namesrv"),
        begin=Begin.FIRST,
        concurrency=4,
        max_retries=request.number("most", 16),
        credentials=request.credentials,
        timeout=_PATIENCE,
    )
    with consumer:
        consumer.subscribe(request.text("topic"), tags=request.text("expression", "*"), sql=sql)
        consumer.start(handler)
        yield


def _send_sync(request: Request) -> None:
    with _producer(request) as producer:
        for wanted in request.messages():
            try:
                output.sent(producer.send(wanted.message))
            except RemotingError as refused:
                output.failure("refused", refused)


def _send_one_way(request: Request) -> None:
    """Leave when the broker has them all."""
    topic = request.text("topic")
    with _producer(request) as producer, _pulling(request, "compat_watch") as watch:
        queues = watch.queues(topic)
        messages = request.messages()
        wished = sum(map(watch.end_offset, queues)) + len(messages)
        for wanted in messages:
            producer.send_oneway(wanted.message)
            event("handed over")
        end = time.monotonic() + _LONG
        while sum(map(watch.end_offset, queues)) < wished and time.monotonic() < end:
            time.sleep(0.02)


def _send_to_queue(request: Request) -> None:
    topic = request.text("topic")
    with _producer(request) as producer:
        broker = request.text("broker", producer.queues(topic)[0].broker)
        for wanted in request.messages():
            try:
                output.sent(producer.send(wanted.message, queue=Queue(topic, broker, wanted.queue)))
            except RemotingError as refused:
                output.failure("refused", refused)


def _send_batch(request: Request) -> None:
    with _producer(request) as producer:
        try:
            output.sent(producer.send_batch([wanted.message for wanted in request.messages()]))
        except RemotingError as refused:
            output.failure("refused", refused)


def _pulling(request: Request, group: str) -> PullConsumer:
    return PullConsumer(group, request.text("namesrv"), credentials=request.credentials, timeout=_PATIENCE)


def _lite_assign(request: Request) -> None:
    """Read one chosen queue from an offset, commit, and read it again from its beginning."""
    with _pulling(request, request.text("group")) as consumer:
        queue = consumer.queues(request.text("topic"))[request.number("queue")]
        consumer.assign(request.text("topic"), [queue])
        consumer.seek(queue, request.number("from"))
        _poll(consumer, request.number("count"), "after seek")
        consumer.commit()
        event("committed", offset=consumer.committed(queue), offsetOfTimeZero=consumer.offset_at(queue, 0))
        consumer.seek_to_first(queue)
        _poll(consumer, request.number("all"), "from the beginning")


def _poll(consumer: PullConsumer, wished: int, by: str) -> None:
    end = time.monotonic() + _LONG
    while wished > 0 and time.monotonic() < end:
        for message in consumer.poll(1.0):
            output.received(by, message)
            wished -= 1


def _push_concurrent(request: Request) -> None:
    inbox = Inbox()
    with _consuming(request, inbox.handler("push")):
        event("started")
        inbox.await_all(request)


def _push_failing(request: Request) -> None:
    """Fail a message `fail` times (a property), as `how` names, with the delay level `level`."""
    inbox = Inbox()

    def handle(message: ReceivedMessage) -> Later | None:
        inbox.take("push", message)
        if message.reconsume_times >= int(message.properties.get("fail", "0")):
            return None
        if message.properties.get("how") == "throw":
            raise ListenerThrew
        return Later(int(message.properties.get("level", "0")))

    with _consuming(request, handle):
        inbox.await_all(request)


def _push_sql(request: Request) -> None:
    """Filter one topic by several expressions at a time, each in a separate group."""
    inbox = Inbox()
    with contextlib.ExitStack() as stack:
        for number, sql in enumerate(request.all("sql")):
            group = f"{request.text('group')}_{number}"
            try:
                stack.enter_context(_consuming(request, inbox.handler(str(number)), group=group, sql=sql))
            except RemotingError as refused:
                output.failure("refused", refused)
        with _producer(request) as producer:
            for wanted in request.messages():
                producer.send(wanted.message)
            inbox.await_all(request)


def _push_while_sending(request: Request) -> None:
    """Messages to a waiting consumer, one at a time: how long each took from the send to the handler."""
    inbox = Inbox()

    def handle(message: ReceivedMessage) -> None:
        event("delay", ms=time.time_ns() // 1_000_000 - message.born_timestamp)
        inbox.take("push", message)

    with _producer(request) as producer, _consuming(request, handle):
        time.sleep(request.number("idle", 1500) / 1000)  # the pulls are held by the broker by now
        messages = request.messages()
        for number, wanted in enumerate(messages, 1):
            output.sent(producer.send(wanted.message))
            inbox.await_count(number, _LONG, 0)
        inbox.await_count(len(messages), 1, 100)


PROGRAMS: Final[Mapping[str, Callable[[Request], None]]] = {
    "SendSync": _send_sync,
    "SendOneway": _send_one_way,
    "SendToQueue": _send_to_queue,
    "SendBatch": _send_batch,
    "LiteAssign": _lite_assign,
    "PushConcurrent": _push_concurrent,
    "PushFailing": _push_failing,
    "PushSql": _push_sql,
    "PushWhileSending": _push_while_sending,
}
