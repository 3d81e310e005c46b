"""The programs, by name; ../java/sources/common describes each."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from rocketmq import (
    ConsumeResult,
    Message,
    MessageListener,
    Producer,
    PushConsumer,
    SimpleConsumer,
    TransactionChecker,
    TransactionResolution,
)
from runner import output
from runner.request import Request
from runner.shared import event

_LONG: Final = 120  # seconds that anything is waited for which comes sooner or later
_OUTCOMES: Final = {"c": TransactionResolution.COMMIT, "r": TransactionResolution.ROLLBACK}
_CONSUMERS: Final[dict[str, Any]] = {}
_HELD: Final[dict[str, dict[str, Message]]] = {}
"""The messages that a simple consumer received, by its name and their ids: each as it came last."""


class AsRequested(Exception):
    """A listener fails as its message requests."""


@contextlib.contextmanager
def _producer(request: Request, checker: TransactionChecker | None = None) -> Iterator[Producer]:
    producer = Producer(request.configuration(), [request.text("topic")], checker)
    producer.startup()
    try:
        yield producer
    finally:
        producer.shutdown()


def _publish(request: Request) -> None:
    try:
        with _producer(request) as producer:
            if request.number("async", 0):
                _publish_at_once(request, producer)
            else:
                _publish_in_sequence(request, producer)
    except Exception as refused:  # noqa: BLE001 - the client raises all kinds; the producer does not start
        output.failure("refused", refused)


def _publish_in_sequence(request: Request, producer: Producer) -> None:
    end = time.monotonic() + request.number("wait", _LONG)
    for message in request.messages():
        while not _taken(producer, message) and request.number("again", 0) and time.monotonic() < end:
            time.sleep(0.1)
        time.sleep(request.number("pause", 0) / 1000)


def _taken(producer: Producer, message: Message) -> bool:
    try:
        _sent(message, producer.send(message))
    except Exception as refused:  # noqa: BLE001 - the client raises all kinds
        output.failure("refused", refused)
        return False
    return True


def _publish_at_once(request: Request, producer: Producer) -> None:
    messages = request.messages()
    for message, future in [(message, producer.send_async(message)) for message in messages]:
        try:
            _sent(message, future.result(_LONG))
        except Exception as refused:  # noqa: BLE001 - the client raises all kinds
            output.failure("refused", refused)


def _sent(message: Message, receipt: Any) -> None:
    text = bytes(message.body).decode("utf-8", "replace")
    event("sent", msgId=receipt.message_id, handle=receipt.recall_handle, text=text)


class _Checker(TransactionChecker):  # type: ignore[misc]
    """Answers with the letters of a message's key."""

    def __init__(self, *, last: bool) -> None:
        self._last = last
        self._steps: Counter[str] = Counter()

    def check(self, message: Message) -> Any:
        event("checked", **output.message(message))
        self._steps[message.message_id] += 1
        plan = next(iter(message.keys))
        step = len(plan) if self._last else self._steps[message.message_id]
        return _OUTCOMES.get(_letter(plan, step), TransactionResolution.TRANSACTION_RESOLUTION_UNSPECIFIED)

    @property
    def checks(self) -> int:
        """How many checks it got."""
        return self._steps.total()


def _letter(plan: str, step: int) -> str:
    return plan[min(step, len(plan) - 1)]


def _publish_in_transaction(request: Request) -> None:
    checker = _Checker(last=request.number("last", 0) == 1)
    with _producer(request, checker) as producer:
        for message in request.messages():
            transaction = producer.begin_transaction()
            try:
                _sent(message, producer.send(message, transaction))
                said = _letter(next(iter(message.keys)), 0)
                if said == "c":
                    transaction.commit()
                elif said == "r":
                    transaction.rollback()
            except Exception as refused:  # noqa: BLE001 - the client raises all kinds
                output.failure("refused", refused)
        end = time.monotonic() + request.number("wait", _LONG)
        while checker.checks < request.number("checks", 0) and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(0.3)


def _recall(request: Request) -> None:
    with _producer(request) as producer:
        for handle in request.all("handle"):
            try:
                event("recalled", msgId=_id_of(producer.recall_message(request.text("topic"), handle)))
            except Exception as refused:  # noqa: BLE001 - the client raises all kinds
                output.failure("refused", refused)


def _id_of(recalled: Any) -> str:
    found: str = getattr(recalled, "message_id", recalled)
    return found


def _open(request: Request, consumer: Any) -> None:
    try:
        consumer.startup()
    except Exception as refused:  # noqa: BLE001 - the client raises all kinds
        output.failure("refused", refused)
        return
    _CONSUMERS[request.text("name")] = consumer
    event("opened")


def _open_simple(request: Request) -> None:
    polling = request.number("polling", 5)
    _HELD[request.text("name")] = {}
    _open(
        request,
        SimpleConsumer(request.configuration(), request.text("group"), request.subscriptions(), await_duration=polling),
    )


def _receive(request: Request) -> None:
    consumer, held = _CONSUMERS[request.text("name")], _HELD[request.text("name")]
    count, got = request.number("count", 1), 0
    end = time.monotonic() + request.number("wait", _LONG)
    while got < count and time.monotonic() < end:
        began, before = time.monotonic(), got
        try:
            for message in consumer.receive(request.number("most", 32), request.number("invisible", 30)):
                held[message.message_id] = message
                event("received", **output.message(message))
                got += 1
                if request.number("ack", 0):
                    consumer.ack(message)
        except Exception as failed:  # noqa: BLE001 - the client raises all kinds
            output.failure("failed", failed)
            time.sleep(0.2)
            continue
        if got == before:
            event("nothing", ms=round((time.monotonic() - began) * 1000))


def _each_held(request: Request, done: str, do: Callable[[Any, Message], object]) -> None:
    consumer, held = _CONSUMERS[request.text("name")], _HELD[request.text("name")]
    for number in request.all("id"):
        try:
            do(consumer, held[number])
            event(done, msgId=number)
        except Exception as refused:  # noqa: BLE001 - the client raises all kinds
            output.failure("refused", refused)


def _ack(request: Request) -> None:
    _each_held(request, "acked", lambda consumer, message: consumer.ack(message))


def _change_invisible(request: Request) -> None:
    seconds = request.number("invisible")
    _each_held(request, "changed", lambda consumer, message: consumer.change_invisible_duration(message, seconds))


class _Listener(MessageListener):  # type: ignore[misc]
    """Keeps what it gets, and fails as messages request."""

    def __init__(self) -> None:
        self._unread: list[dict[str, Any]] = []
        self._tries: Counter[str] = Counter()
        self._lock = threading.Lock()

    def consume(self, message: Message) -> ConsumeResult:
        fields = output.message(message)
        with self._lock:
            self._unread.append(fields)
            self._tries[message.message_id] += 1
            tries = self._tries[message.message_id]
        time.sleep(int(message.properties.get("slow", "0")) / 1000)
        if tries > int(message.properties.get("fail", "0")):
            return ConsumeResult.SUCCESS
        if message.properties.get("how") == "throw":
            raise AsRequested
        return ConsumeResult.FAILURE

    def print_received(self) -> int:
        """Print what came since the last time, and count it."""
        with self._lock:
            received, self._unread = self._unread, []
        for fields in received:
            event("received", **fields)
        return len(received)


_LISTENERS: Final[dict[str, _Listener]] = {}


def _open_push(request: Request) -> None:
    listener = _LISTENERS[request.text("name")] = _Listener()
    threads = request.number("threads", 8)
    _open(
        request,
        PushConsumer(
            request.configuration(),
            request.text("group"),
            listener,
            request.subscriptions(),
            consumption_thread_count=threads,
        ),
    )


def _taken_by_listener(request: Request) -> None:
    listener = _LISTENERS[request.text("name")]
    end = time.monotonic() + request.number("wait", _LONG)
    got = listener.print_received()
    while got < request.number("count", 0) and time.monotonic() < end:
        time.sleep(0.01)
        got += listener.print_received()
    time.sleep(request.number("settle", 300) / 1000)
    listener.print_received()


def _close(request: Request) -> None:
    consumer = _CONSUMERS.pop(request.text("name"), None)
    if consumer is not None:
        threading.Thread(target=consumer.shutdown, daemon=True).start()


PROGRAMS: Final[Mapping[str, Callable[[Request], None]]] = {
    "Publish": _publish,
    "PublishInTransaction": _publish_in_transaction,
    "Recall": _recall,
    "OpenSimple": _open_simple,
    "Receive": _receive,
    "Ack": _ack,
    "ChangeInvisible": _change_invisible,
    "OpenPush": _open_push,
    "Taken": _taken_by_listener,
    "Close": _close,
}
