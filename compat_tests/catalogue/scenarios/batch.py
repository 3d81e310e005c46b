"""Listeners that take many messages at once: up to what a consumer requests (1 to 1024) and the broker returns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from rocketwire.compat.case import Case
from rocketwire.compat.clients.client import events
from rocketwire.compat.messages import Outgoing, assert_each_once
from rocketwire.compat.scenario import Need, scenario

MESSAGES: Final = [Outgoing(body=f"batch {i}") for i in range(1100)]
MOST: Final = 1024
DEFAULT_OF_THE_BROKER: Final = 32
_SOURCE: Final = (
    "Apache 4.9, consumeMessageBatchMaxSize, pullBatchSize; MessageStoreConfig.maxTransferCountOnMessageInMemory"
)
of_batches = partial(scenario, source=_SOURCE, programs=("PushBatches",), background=("SendBatch",))


def _consumed(
    case: Case, topic: str, mode: str, *, batch: int = MOST, messages: Sequence[Outgoing] = MESSAGES
) -> list[int]:
    """All messages come once each, of a queue that was full before: in batches of these sizes, the largest first."""
    case.doing("SendBatch").run("SendBatch", topic=topic, message=messages)
    got = case.client.run(
        "PushBatches",
        topic=topic,
        group=case.group(),
        mode=mode,
        batch=batch,
        pull=MOST,
        behind=DEFAULT_OF_THE_BROKER,
        count=len(messages),
    )
    received = events(got, "received")
    assert_each_once(received, messages)
    if mode == "orderly":
        assert [event["queueOffset"] for event in received] == list(range(len(messages)))
    return sorted((event["size"] for event in events(got, "batch")), reverse=True)


@of_batches(
    id="batch.default-concurrent",
    proves="By default a pull brings 32 messages, and a concurrent listener gets them together.",
    needs=(Need.SHORT_PULLS,),
)
def default_concurrent(case: Case) -> None:
    sizes = _consumed(case, case.topic(1), "concurrent")
    assert sizes == [DEFAULT_OF_THE_BROKER] * 34 + [1100 - 34 * DEFAULT_OF_THE_BROKER]


@of_batches(
    id="batch.default-orderly",
    proves="An orderly listener gets together what several pulls have brought.",
    needs=(Need.SHORT_PULLS,),
)
def default_orderly(case: Case) -> None:
    sizes = _consumed(case, case.topic(1), "orderly")
    assert DEFAULT_OF_THE_BROKER < sizes[0] <= MOST


@of_batches(
    id="batch.one-concurrent",
    proves="A concurrent listener that takes one message at once gets one.",
)
def one_concurrent(case: Case) -> None:
    assert _consumed(case, case.topic(1), "concurrent", batch=1, messages=MESSAGES[:100]) == [1] * 100


@of_batches(
    id="batch.one-orderly",
    proves="An orderly listener that takes one message at once gets one.",
)
def one_orderly(case: Case) -> None:
    assert _consumed(case, case.topic(1), "orderly", batch=1, messages=MESSAGES[:100]) == [1] * 100


@of_batches(
    id="batch.most",
    proves="Where the broker allows it, a pull brings 1024 messages, and a listener gets them together.",
    needs=(Need.LONG_PULLS,),
    programs=("PushBatches", "PullAt"),
)
def most(case: Case) -> None:
    topic = case.topic(1, on_one=True)
    assert _consumed(case, topic, "concurrent") == [MOST, 1100 - MOST]
    (pulled,) = case.client.only(
        "pulled", "PullAt", topic=topic, group=case.group("reader"), queue=0, offset=[10], atOnce=MOST
    )
    assert (pulled["count"], pulled["next"]) == (MOST, 10 + MOST)
