"""A shop's traffic at an endpoint: producers, groups that fail at times, retries, dead letters and traces.

Traffic swells and ebbs, with a burst in the middle that a slow group falls behind at; one group has an outage in which
most of its work fails, and for a while the endpoint answers sends late. So the plots have something to show.
"""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from rocketwire.remoting import Begin, Later, Message, Producer, PushConsumer, ReceivedMessage
from rocketwire.remoting.clock import system_clock
from rocketwire.remoting.errors import NoSuchTopic
from rocketwire.testing import Endpoint
from rocketwire.wire.names import dead_letter_topic
from tools.spark_pipeline.traces import Tracer

#: For the endpoint: delays of retries that fit a run of seconds, traces, and rules of faults.
SETTINGS: Final[dict[str, str | int | bool]] = {
    "messageDelayLevel": "1s 1s 1s 1s 2s",
    "traceTopicEnable": True,
    "faultInjectionEnable": True,
}
#: As parts of the time that messages are sent in.
OUTAGE: Final = (0.2, 0.4)
BURST: Final = (0.5, 0.65)
SLOW: Final = (0.75, 0.85)
_MAX_RETRIES: Final = 3
#: How often a message is one that its group can never consume.
_POISONED: Final = 0.004
_POISON: Final = b"?"
_CUSTOMERS: Final = 5_000
_SLOW_RULE: Final = "delay:60-200,code=310,rate=0.08"
_TICK: Final = 0.02
_PATIENCE: Final = 60.0
_HANDLERS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A topic with its tags, its part of all messages, and the group that consumes it.

    Attributes:
        fails: How often consuming fails, outside of an outage.
        outage: Whether the group has the outage.
        ms: How long consuming takes.
    """

    topic: str
    part: float
    tags: tuple[str, ...]
    group: str
    fails: float = 0.0
    outage: bool = False
    ms: float = 1.0


KINDS: Final = (
    Kind(topic="Clicks", part=0.45, tags=("view", "search", "basket"), group="shelves"),
    Kind(topic="Orders", part=0.25, tags=("created", "changed", "cancelled"), group="billing", fails=0.02),
    Kind(topic="Payments", part=0.18, tags=("card", "wallet", "refund"), group="ledger", fails=0.03, outage=True),
    Kind(topic="Shipments", part=0.12, tags=("packed", "sent"), group="parcels", fails=0.005, ms=50.0),
)


@dataclass(slots=True)
class Account:
    """The outcomes of the messages so far, by topic; threads share it.

    Attributes:
        acknowledged: Messages that the endpoint has.
        consumed: Those that their group has consumed.
    """

    acknowledged: Counter[str] = field(default_factory=Counter)
    consumed: dict[str, set[str]] = field(default_factory=lambda: {kind.topic: set() for kind in KINDS})


class Load:
    """Traffic for some seconds.

    Args:
        endpoint: It has the settings `SETTINGS`.
        seconds: How long messages are sent.
        rate: About so many messages a second.
        chance: Decides all but the times, which are those of this machine.
    """

    def __init__(self, endpoint: Endpoint, seconds: float, rate: float, chance: np.random.Generator) -> None:
        self._endpoint = endpoint
        self._seconds = seconds
        self._rate = rate
        self._chance = chance
        self._began = time.monotonic()
        self.account = Account()

    def run(self, report: Callable[[str], None]) -> None:
        """Send and consume, until each message is consumed or a dead letter; the traces are sent then.

        Raises:
            TimeoutError: a message is neither, for very long.
        """
        # Groups fail as they should: that is no news.
        logging.getLogger("rocketwire.remoting").setLevel(logging.CRITICAL)
        with Tracer(self._endpoint.namesrv) as tracer, ExitStack() as groups:
            for kind in KINDS:
                consumer = PushConsumer(
                    kind.group,
                    self._endpoint.namesrv,
                    begin=Begin.FIRST,
                    concurrency=_HANDLERS,
                    max_retries=_MAX_RETRIES,
                )
                groups.enter_context(consumer).subscribe(kind.topic)
                consumer.start(self._handler(kind, tracer))
            self._began = time.monotonic()
            chances = self._chance.spawn(len(KINDS))
            producers = [
                threading.Thread(target=self._produce, args=(kind, tracer, chance))
                for kind, chance in zip(KINDS, chances, strict=True)
            ]
            for each in producers:
                each.start()
            self._be_slow_for_a_while()
            for each in producers:
                each.join()
            report(f"{self.account.acknowledged.total():,} messages are acknowledged; groups finish their work")
            self._wait_for_groups()

    def _part(self) -> float:
        """How much of the time is over, as a part."""
        return (time.monotonic() - self._began) / self._seconds

    def _produce(self, kind: Kind, tracer: Tracer, chance: np.random.Generator) -> None:
        with Producer("shop", self._endpoint.namesrv) as producer:
            owed, last = 0.0, time.monotonic()
            while (part := self._part()) < 1:
                # What a busy machine does not get done in time is skipped: the traffic keeps its shape.
                owed += min(time.monotonic() - last, 10 * _TICK) * self._rate * kind.part * _swell(part)
                last = time.monotonic()
                for _ in range(int(owed)):
                    message, began = _message(kind, chance), system_clock()
                    tracer.sent("shop", message, producer.send(message), began)
                    self.account.acknowledged[kind.topic] += 1
                owed %= 1
                time.sleep(_TICK)

    def _be_slow_for_a_while(self) -> None:
        time.sleep(max(0.0, SLOW[0] * self._seconds - (time.monotonic() - self._began)))
        with self._endpoint.faults.during(_SLOW_RULE):
            time.sleep((SLOW[1] - SLOW[0]) * self._seconds)

    def _handler(self, kind: Kind, tracer: Tracer) -> Callable[[ReceivedMessage], Later | None]:
        (chance,) = self._chance.spawn(1)
        one_at_a_time = threading.Lock()

        def handle(message: ReceivedMessage) -> Later | None:
            with tracer.consuming(kind.group, message) as consumption:
                time.sleep(kind.ms / 1000)
                out = kind.outage and OUTAGE[0] <= self._part() < OUTAGE[1]
                with one_at_a_time:
                    fails = chance.random() < (0.8 if out else kind.fails)
                if message.body == _POISON:
                    raise ValueError
                consumption.ends(well=not fails)
            if fails:
                return Later()
            self.account.consumed[kind.topic].add(message.message_id)
            return None

        return handle

    def _wait_for_groups(self) -> None:
        until = time.monotonic() + _PATIENCE
        for kind in KINDS:
            while self._left(kind) > 0:
                if time.monotonic() > until:
                    raise TimeoutError(f"{kind.group} has {self._left(kind)} messages left")
                time.sleep(0.25)

    def _left(self, kind: Kind) -> int:
        """How many messages are neither consumed nor dead letters."""
        left = self.account.acknowledged[kind.topic] - len(self.account.consumed[kind.topic])
        try:
            return left and left - len(self._endpoint.messages(dead_letter_topic(kind.group)))
        except NoSuchTopic:  # it is made for the first letter
            return left


def _swell(part: float) -> float:
    """How busy it is at a time: about 1 in the mean, more in the burst."""
    wave = 0.65 + 0.35 * math.sin(2 * math.pi * (2.5 * part - 0.25))
    return wave * (2.5 if BURST[0] <= part < BURST[1] else 1.2)


def _message(kind: Kind, chance: np.random.Generator) -> Message:
    # Few customers are busy, and many are not.
    customer = f"customer-{int(chance.pareto(0.55)) % _CUSTOMERS}"
    tag = kind.tags[int(len(kind.tags) * chance.random() ** 2)]
    body = {"customer": customer, "what": f"{kind.topic}/{tag}", "note": "." * int(chance.exponential(300))}
    text = _POISON if chance.random() < _POISONED else json.dumps(body).encode()
    return Message(kind.topic, text, tags=tag, keys=[customer])
