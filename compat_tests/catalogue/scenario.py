"""How a scenario is declared, and the catalogue of all.

A scenario is a plain function with plain asserts that is given a `Case`. `@scenario` declares what it proves, where
that claim comes from, what it needs and how long it may take.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rocketwire.compat.case import Case

FEATURES: Final[Mapping[str, str]] = {
    "send": "Send",
    "topic": "Topics",
    "pull": "Pull",
    "push": "Push",
    "pop": "Pop",
    "batch": "Batches of messages",
    "broadcast": "Broadcasting",
    "order": "Order",
    "group": "Consumer groups",
    "offset": "Offsets",
    "delay": "Delay levels",
    "timer": "Timers",
    "retry": "Retries and dead letters",
    "transaction": "Transactions",
    "filter": "Filters",
    "query": "Query",
    "request": "Request and reply",
    "trace": "Message trace",
    "type": "Message types",
    "grpc-send": "5.x: send",
    "grpc-simple": "5.x: simple consumers",
    "grpc-push": "5.x: push consumers",
    "grpc-fifo": "5.x: order",
    "grpc-delay": "5.x: delays and recalls",
    "grpc-transaction": "5.x: transactions",
    "grpc-filter": "5.x: filters",
    "grpc-mixed": "5.x and 4.x together",
}
"""The name of each feature, in the order of reports."""

GRPC: Final = "grpc-"
"""Begins the features of clients of 5.x."""


class Need(StrEnum):
    """What settings of an endpoint may forbid; engine/probe.py finds out."""

    SQL = "sql"
    TIMER = "timer"
    RECALL = "recall"
    POP = "pop"
    DELAYS_KNOWN = "known delays"
    QUICK_RETRY = "quick retry"
    SHORT_DELAYS = "short delays"
    SHORT_TRANSACTIONS = "short transactions"
    AUTO_CREATE_TOPIC = "auto-created topics"
    TRACE = "trace"
    SHORT_PULLS = "short pulls"
    LONG_PULLS = "long pulls"
    AGED_QUEUES = "aged queues"
    YOUNG_QUEUES = "young queues"
    ONE_BROKER = "one broker"


WHAT_IT_TAKES: Final[Mapping[Need, str]] = {
    Need.SQL: "filters by SQL92 (enablePropertyFilter)",
    Need.TIMER: "messages with a delivery time (Apache has them since 5.0)",
    Need.RECALL: "recalls of timed messages (recallMessageEnable)",
    Need.POP: "consumers that pop (Apache has them since 5.0)",
    Need.DELAYS_KNOWN: "a known first delay level of at most 10 s (messageDelayLevel)",
    Need.QUICK_RETRY: "a third delay level, that of a first retry, of at most 10 s (messageDelayLevel)",
    Need.SHORT_DELAYS: "levels of 1 to 3 s (messageDelayLevel=1s 2s 1s ... 3s, as docs/compat.md has it)",
    Need.SHORT_TRANSACTIONS: "transactionTimeOut and transactionCheckInterval of 2000, transactionCheckMax of 3",
    Need.AUTO_CREATE_TOPIC: "topics that the first message creates (autoCreateTopicEnable)",
    Need.TRACE: "a topic for traces (traceTopicEnable, or autoCreateTopicEnable)",
    Need.SHORT_PULLS: "answers of 32 messages, the default (maxTransferCountOnMessageInMemory)",
    Need.LONG_PULLS: "answers of 1024 messages (maxTransferCountOnMessageInMemory, maxTransferBytesOnMessageInMemory)",
    Need.AGED_QUEUES: "queues that count as old at once (accessMessageInMemoryMaxRatio=0)",
    Need.YOUNG_QUEUES: "queues whose messages count as in memory (accessMessageInMemoryMaxRatio above 0)",
    Need.ONE_BROKER: "a cluster of one broker",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One scenario of the catalogue.

    Attributes:
        id: `FEATURE.NAME`; it never changes once published.
        proves: What a client may rely on if it passes: one sentence.
        source: Where that claim comes from: a class of Apache's sources, a page of its documents.
        run: The function.
        needs: What the endpoint's settings must allow.
        programs: What the client under test must offer.
        background: What the client under test need not offer: a helping Java client does it in its place.
        limit: Seconds that it may take.
        environment: Variables that the client's process gets.
        ours_only: Whether Apache's brokers behave otherwise, so that it is for rocketwire only.
        clients: The ids of clients that it is about, where it is not for all.
    """

    id: str
    proves: str
    source: str
    run: Callable[[Case], None]
    needs: tuple[Need, ...] = ()
    programs: tuple[str, ...] = ()
    background: tuple[str, ...] = ()
    limit: float = 90.0
    environment: Mapping[str, str] = field(default_factory=dict)
    ours_only: bool = False
    clients: tuple[str, ...] = ()

    @property
    def feature(self) -> str:
        """A key of `FEATURES`: the first part of the id."""
        return self.id.partition(".")[0]

    @property
    def grpc(self) -> bool:
        """Whether it is for clients of 5.x, which speak gRPC; else it is for those that speak remoting."""
        return self.feature.startswith(GRPC)


_FOUND: dict[str, Scenario] = {}


class TwoOfOneId(Exception):
    """Two scenarios have the same id."""


def scenario(
    *,
    id: str,  # noqa: A002 - what it is called everywhere
    proves: str,
    source: str,
    needs: tuple[Need, ...] = (),
    programs: tuple[str, ...] = (),
    background: tuple[str, ...] = (),
    limit: float = 90.0,
    environment: Mapping[str, str] | None = None,
    ours_only: bool = False,
    clients: tuple[str, ...] = (),
) -> Callable[[Callable[[Case], None]], Callable[[Case], None]]:
    """Put a function into the catalogue; the arguments are those of `Scenario`.

    Raises:
        TwoOfOneId: another one has the id.
    """

    def register(run: Callable[[Case], None]) -> Callable[[Case], None]:
        if id in _FOUND:
            raise TwoOfOneId(id)
        _FOUND[id] = Scenario(
            id=id,
            proves=proves,
            source=source,
            run=run,
            needs=needs,
            programs=programs,
            background=background,
            limit=limit,
            environment=environment or {},
            ours_only=ours_only,
            clients=clients,
        )
        return run

    return register


def modules() -> list[str]:
    """The names of the modules with scenarios."""
    package = import_module("rocketwire.compat.scenarios")
    return [f"{package.__name__}.{each.name}" for each in pkgutil.iter_modules(package.__path__)]


@cache
def catalogue() -> dict[str, Scenario]:
    """All scenarios by id, by feature in the order of `FEATURES`, within one as they are written."""
    for name in modules():
        import_module(name)
    order = {feature: place for place, feature in enumerate(FEATURES)}
    return dict(sorted(_FOUND.items(), key=lambda item: order[item[1].feature]))
