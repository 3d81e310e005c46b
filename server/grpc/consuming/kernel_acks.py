"""AckMessage calls that come in one read: what `acknowledging` does, for all of them at once.

SDKs acknowledge each message by a separate call, so these are most of a consumer's calls. Their records are stored as
one group, without a request to the broker for each. The first call that would be refused ends the group; it goes the
general way, which gives the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.grpc.clients import GrpcClients
from rocketwire.server.grpc.consuming.batch_acks import BatchedAcks, answer_of_each, read_acks
from rocketwire.server.grpc.consuming.handles import HeldDeliveries
from rocketwire.server.grpc.kernel import KernelCallServices
from rocketwire.server.grpc.metadata import CLIENT_ID
from rocketwire.server.messages.message_writer import Refusals, refusal_of
from rocketwire.server.pop.acks import ACKED, Acks
from rocketwire.server.pop.ordered import PopQueue
from rocketwire.store.append.drafts import Draft
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.grpc.checks import check_client_id, check_group, check_topic
from rocketwire.wire.http2.events import CALL, Event
from rocketwire.wire.pop_handle import ORDER_REVIVE_QUEUE, topic_for_kind

if TYPE_CHECKING:
    from rocketwire.server.grpc.transport.connection import GrpcConnection

PATH: Final = "/apache.rocketmq.v2.MessagingService/AckMessage"
_AT_ONCE: Final = 128
"""The most calls of a group: other connections wait for it."""


class _Plain(NamedTuple):
    """A call, and where its drafts begin and end in the group."""

    stream: int
    client_id: str
    acks: BatchedAcks
    first: int
    end: int


class KernelAcks:
    """The plain acknowledgements of 5.x clients.

    Attributes:
        overtakes: See `Plain`: no other call depends on what is acknowledged.
        most: As `Plain` has it.
    """

    overtakes: Final = True
    most: Final = _AT_ONCE

    def __init__(
        self, parts: KernelCallServices, *, acks: Acks, clients: GrpcClients, held: HeldDeliveries, clock: Clock
    ) -> None:
        """Make it.

        Args:
            parts: Serve them.
            acks: Makes what is stored of them.
            clients: The connected clients.
            held: The deliveries that are renewed.
            clock: Gives the time in ms since 1970.
        """
        self._parts = parts
        self._acks = acks
        self._clients = clients
        self._held = held
        self._clock = clock

    def serve(self, events: Sequence[Event], connection: GrpcConnection) -> int:
        """Serve the calls that events begin with, up to the first that is not plain, and return how many these are.

        Raises:
            OSError: the store failed; nothing is answered.
        """
        if self._parts.is_disabled:
            return 0
        began = self._parts.monotonic()
        drafts: list[Draft] = []
        calls = self._calls(events, connection.remote_text, drafts)
        if not calls:
            return 0
        _, refusals = self._parts.storing.append(drafts)
        answers = [(each.stream, self._answer(each, refusals)) for each in calls]
        self._count(calls, began)
        connection.answer_unary_calls(answers)
        return len(answers)

    def _calls(self, events: Sequence[Event], remote: str, drafts: list[Draft]) -> list[_Plain]:
        """The calls that are plain; what they store is added to `drafts`."""
        now = self._clock()
        calls: list[_Plain] = []
        for kind, *values in events[:_AT_ONCE]:
            if kind != CALL or values[1] != PATH:
                break
            stream, _, headers, payload = values
            client_id = headers.get(CLIENT_ID, "")
            first = len(drafts)
            try:
                check_client_id(client_id)
                acks = read_acks(payload)
                if not isinstance(acks, BatchedAcks) or now >= acks.until:
                    break
                drafts += self._drafts(acks, remote, now)
            except Exception:  # noqa: BLE001 - the general way gives the reason
                break
            calls.append(_Plain(stream, client_id, acks, first, len(drafts)))
        return calls

    def _drafts(self, acks: BatchedAcks, remote: str, now: int) -> list[Draft]:
        topic, group = acks.topic, acks.group
        check_topic(topic)
        check_group(group)
        made: list[Draft] = []
        for point in acks.points:
            if point.revive_queue == ORDER_REVIVE_QUEUE:
                raise ValueError  # nothing is stored of these
            queue = PopQueue(topic_for_kind(point.kind, topic, group), group, point.queue)
            made.append(self._acks.draft(queue, acks.broker, point, remote, now))
        return made

    def _answer(self, call: _Plain, refusals: Refusals) -> bytes:
        client = self._clients.find(call.client_id) if call.acks.renewed else None
        if client is not None:
            for text in call.acks.renewed:
                self._held.remove(client, text)
        error = refusal_of(refusals, call.first, call.end) if refusals else None
        if error is None:
            return call.acks.answer
        reply = ACKED.refused(error)
        return answer_of_each(call.acks, [reply] * len(call.acks.points)).SerializeToString()

    def _count(self, calls: Sequence[_Plain], began: float) -> None:
        single = several = 0
        for call in calls:
            for point in call.acks.points:
                if len(point.offsets) == 1:
                    single += 1
                else:
                    several += 1
        self._parts.count(RequestCode.ACK_MESSAGE, single, began)
        self._parts.count(RequestCode.BATCH_ACK_MESSAGE, several, began)
