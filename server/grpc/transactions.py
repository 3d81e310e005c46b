"""Transactions of 5.x clients: EndTransaction names a transaction by its id, the broker's request by its offsets."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from rocketwire.remoting.core.steps import Operation
from rocketwire.server.acl.resources import PUB
from rocketwire.server.grpc.calls import Call, serve
from rocketwire.server.grpc.routing import load_shares
from rocketwire.server.grpc.statuses import status_of_reply
from rocketwire.server.grpc.tables.directories import TopicDirectory
from rocketwire.wire.facts.codes import RequestCode, SysFlag
from rocketwire.wire.grpc.checks import check_topic, check_transaction_id
from rocketwire.wire.grpc.codes import CallInvalid, Code
from rocketwire.wire.grpc.definition_pb2 import TransactionResolution, TransactionSource
from rocketwire.wire.grpc.service_pb2 import EndTransactionRequest, EndTransactionResponse
from rocketwire.wire.headers.transaction import EndTransactionRequestHeader

_KEPT_SECONDS: Final = 3600.0
_MOST: Final = 100_000
_DECISIONS: Final = {
    TransactionResolution.COMMIT: SysFlag.TRANSACTION_COMMIT,
    TransactionResolution.ROLLBACK: SysFlag.TRANSACTION_ROLLBACK,
}


class _Half(NamedTuple):
    queue_offset: int
    physical_offset: int
    broker: str | None
    until: float


class PendingTransactions:
    """Where the half messages lie whose transactions clients may end: of the last hour, a bounded number.

    What is forgotten, by a restart, too, comes with the next check of the transaction.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        """Forget by this clock, in seconds."""
        self._now = now
        self._halves: OrderedDict[bytes, _Half] = OrderedDict()

    def add(self, topic: str, transaction_id: str, queue_offset: int, physical_offset: int, broker: str | None) -> None:
        """Remember a half message: its place in the queue of half messages, and in the commit log of its broker."""
        now = self._now()
        halves, key = self._halves, _key(topic, transaction_id)
        halves.pop(key, None)
        halves[key] = _Half(queue_offset, physical_offset, broker, now + _KEPT_SECONDS)
        while len(halves) > _MOST or next(iter(halves.values())).until < now:
            halves.popitem(last=False)

    def find(self, topic: str, transaction_id: str) -> tuple[int, int, str | None] | None:
        """Queue offset, physical offset and broker of a half message, None if it is not known."""
        half = self._halves.get(_key(topic, transaction_id))
        return None if half is None or half.until < self._now() else half[:3]

    def forget(self, topic: str, transaction_id: str) -> None:
        """Forget a half message whose transaction has ended."""
        self._halves.pop(_key(topic, transaction_id), None)


def _key(topic: str, transaction_id: str) -> bytes:
    """What a transaction is known by; its id is its message's, which may be as long as properties are."""
    text = f"{topic} {transaction_id}"  # no topic has a blank
    return hashlib.sha256(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionServices:
    """The services of ending a transaction."""

    pending: PendingTransactions
    topics: TopicDirectory


def end_transaction(services: TransactionServices, call: Call, request: EndTransactionRequest) -> Operation[Any]:
    """Commit or roll back a half message; the producer group of half messages is their topic."""
    topic, transaction_id = request.topic.name, request.transaction_id
    check_topic(topic)
    check_transaction_id(transaction_id)
    found = services.pending.find(topic, transaction_id)
    if found is None:
        if call.connection.guarded:  # without permission for the topic a client must not learn which transactions exist
            yield from load_shares(services.topics, call, topic, PUB)
        raise CallInvalid(Code.INVALID_TRANSACTION_ID, f"no such transaction is known: {transaction_id}")
    queue_offset, physical_offset, broker = found
    header = EndTransactionRequestHeader(
        producer_group=topic,
        tran_state_table_offset=queue_offset,
        commit_log_offset=physical_offset,
        commit_or_rollback=_DECISIONS.get(request.resolution, SysFlag.TRANSACTION_NOT),
        from_transaction_check=request.source == TransactionSource.SOURCE_SERVER_CHECK,
        msg_id=request.message_id,
        transaction_id=transaction_id,
    )
    (reply,) = yield from serve(call.request(RequestCode.END_TRANSACTION, header, broker=broker))
    return EndTransactionResponse(status=status_of_reply(reply))
