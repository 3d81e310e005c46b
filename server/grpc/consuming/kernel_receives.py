"""ReceiveMessage calls of one read that find messages at once: what `receiving` does, for all of them together.

Their check points are stored as one group, without a request to the broker for each. The first call that finds nothing,
that would be refused, or whose messages are not plain ends the group; it goes the general way, which takes again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from rocketwire.server.core.cache_invalidation import CacheInvalidation
from rocketwire.server.grpc.calls import Call, GrpcMethod
from rocketwire.server.grpc.clients import GrpcClient
from rocketwire.server.grpc.consuming.deliveries import (
    DirectRecords,
    FastPathCriteria,
    fast_path_criteria,
    kernel_payloads,
    records_of_pop,
    renewed_handles,
)
from rocketwire.server.grpc.consuming.popped import popped_messages
from rocketwire.server.grpc.consuming.receiving import (
    Delivery,
    ReceivingServices,
    check_polling,
    empty_response,
    pop_request,
    stream_payloads,
    tags_of,
    wanted_polling,
)
from rocketwire.server.grpc.kernel import KernelCallServices
from rocketwire.server.grpc.metadata import read_timeout
from rocketwire.server.grpc.settings import group_config, most_attempts
from rocketwire.server.messages.message_writer import refusal_of
from rocketwire.server.pop.ordered import PopQueue
from rocketwire.server.pop.pop_reader import PopSpec, QueueBusy
from rocketwire.server.pop.pop_result import PopResult
from rocketwire.server.pop.services import PopServices
from rocketwire.store.append.drafts import Draft
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.grpc.checks import check_client_id, check_group, check_topic
from rocketwire.wire.grpc.filters import Filter, read_filter
from rocketwire.wire.grpc.polling import always_allows_polling
from rocketwire.wire.grpc.service_pb2 import ReceiveMessageRequest
from rocketwire.wire.http2.events import CALL, Event

if TYPE_CHECKING:
    from rocketwire.server.grpc.transport.connection import GrpcConnection

PATH: Final = "/apache.rocketmq.v2.MessagingService/ReceiveMessage"
_AT_ONCE: Final = 16
_MOST_BYTES: Final = 256 << 10
"""The most calls of a group, and bytes of messages after which it ends: other connections wait for it."""
_PLANS_KEPT: Final = 256
_LONGEST_KEPT: Final = 512
"""Bytes of a request whose plan is kept."""


class _Plan(NamedTuple):
    """What is decided once for equal requests, until a topic, a group or the configuration changes.

    Attributes:
        spec: The pop.
        wanted: Its filter, as the request has it.
        criteria: What the messages must be to be plain.
        polling: For how many ms the client would wait; None: it gives no time.
        renewed: Whether the server renews the deliveries.
    """

    spec: PopSpec
    wanted: Filter
    criteria: FastPathCriteria
    polling: int | None
    renewed: bool


class _Plain(NamedTuple):
    """A call, and what it takes."""

    call: Call
    client: GrpcClient
    plan: _Plan
    taken: PopResult
    run: DirectRecords
    payloads: list[bytes]


class _Group:
    """Calls whose check points are stored together.

    Attributes:
        busy: The queues that they take messages of.
    """

    __slots__ = ("busy", "plain")

    def __init__(self) -> None:
        self.plain: list[_Plain] = []
        self.busy: set[PopQueue] = set()

    def add(self, one: _Plain) -> None:
        """Add a call."""
        self.plain.append(one)
        self.busy.update([each.queue for each in one.taken.queues])


class KernelReceives:
    """The plain receives of 5.x clients.

    Attributes:
        overtakes: See `Plain`: a client may have sent before what it receives.
        most: As `Plain` has it.
    """

    overtakes: Final = False
    most: Final = _AT_ONCE

    def __init__(
        self,
        parts: KernelCallServices,
        services: ReceivingServices,
        method: GrpcMethod,
        *,
        pops: PopServices,
        invalidation: CacheInvalidation,
    ) -> None:
        """Make it.

        Args:
            parts: Serve them.
            services: What receives use.
            method: ReceiveMessage.
            pops: Takes messages.
            invalidation: Drops the plans when an input of theirs changes.
        """
        self._parts = parts
        self._services = services
        self._method = method
        self._pops = pops
        self._plans: dict[bytes, _Plan] = {}
        invalidation.register(self._plans.clear)

    def serve(self, events: Sequence[Event], connection: GrpcConnection) -> int:
        """Serve the calls that events begin with, up to the first that is not plain, and return how many these are.

        Raises:
            OSError: the store failed; nothing is answered.
        """
        if self._parts.is_disabled:
            return 0
        began = self._parts.monotonic()
        group, served, size = _Group(), 0, 0
        for kind, *values in events[:_AT_ONCE]:
            if kind != CALL or values[1] != PATH:
                break
            stream, _, headers, payload = values
            call = Call(connection, stream, self._method, headers)
            try:
                plain = self._taken(call, payload, group.busy)
            except QueueBusy:  # what was taken of it before has to be stored first
                self._store(group, connection)
                group = _Group()
                plain = self._taken(call, payload, group.busy)
            if plain is None:
                break
            group.add(plain)
            served += 1
            size += plain.taken.size
            if size > _MOST_BYTES:
                break
        self._store(group, connection)
        self._parts.count(RequestCode.POP_MESSAGE, served, began)
        return served

    def _taken(self, call: Call, payload: bytes, busy: set[PopQueue]) -> _Plain | None:
        """What a call takes; None: it is not plain, and nothing is taken.

        Raises:
            QueueBusy: it would take of one of `busy`.
        """
        try:
            plan = self._plans.get(payload) or self._make_plan(call, payload)
            return None if plan is None else self._take(call, plan, busy)
        except QueueBusy:
            raise
        except Exception:  # noqa: BLE001 - the general way gives the reason
            return None

    def _make_plan(self, call: Call, payload: bytes) -> _Plan | None:
        """What is decided for a request; None: the general way decides."""
        request, services = ReceiveMessageRequest.FromString(payload), self._services
        topic, group = request.message_queue.topic.name, request.group.name
        config = group_config(services.groups, group)
        if config.consume_message_orderly or not self._pops.may_find(topic, group):
            return None
        check_client_id(call.client_id)
        check_topic(topic)
        check_group(group)
        wanted = read_filter(request.filter_expression)
        client = services.clients.find_or_make(call.client_id, call.connection, call.account)
        fields = pop_request(call, client, request, wanted, in_order=False, now=services.clock())
        spec = self._pops.make_spec(fields, call.remote_text)
        polling = wanted_polling(request)
        criteria = fast_path_criteria(
            topic=topic,
            broker=self._pops.broker_name,
            tags=tags_of(wanted),
            most_attempts=most_attempts(config),
            renewed=request.auto_renew,
        )
        plan = _Plan(spec, wanted, criteria, polling, request.auto_renew)
        # Others name the client, or this one call.
        if not request.auto_renew and not request.attempt_id and len(payload) <= _LONGEST_KEPT:
            if len(self._plans) >= _PLANS_KEPT:
                self._plans.clear()
            self._plans[payload] = plan
        return plan

    def _take(self, call: Call, plan: _Plan, busy: set[PopQueue]) -> _Plain | None:
        services, pops, fields = self._services, self._pops, plan.spec.fields
        topic, group = fields.topic, fields.consumer_group
        if pops.refusal(group, topic, account="") is not None:
            return None
        check_client_id(call.client_id)
        client = services.clients.find_or_make(call.client_id, call.connection, call.account)
        if not always_allows_polling(read_timeout(call.headers)):
            check_polling(call, client, plan.polling)
        taken = pops.take(PopSpec(fields, plan.spec.message_filter, busy, counts_remaining=pops.polls.held > 0))
        run = records_of_pop(taken, fields.invisible_time) if taken.drafts else None
        payloads = kernel_payloads(run, plan.criteria)
        return None if run is None or payloads is None else _Plain(call, client, plan, taken, run, payloads)

    def _store(self, group: _Group, connection: GrpcConnection) -> None:
        """Store the check points of a group, and answer its calls."""
        if not group.plain:
            return
        drafts: list[Draft] = []
        for each in group.plain:
            drafts += each.taken.drafts
        _, refusals = self._parts.storing.append(drafts)
        end = 0
        for each in group.plain:
            first, end = end, end + len(each.taken.drafts)
            error = refusal_of(refusals, first, end) if refusals else None
            if error is None:
                self._deliver(each, connection)
            else:
                responses = empty_response(PopResult.refused(error), self._services.clock())
                connection.answer_stream(each.call, [response.SerializeToString() for response in responses])

    def _deliver(self, plain: _Plain, connection: GrpcConnection) -> None:
        """Answer a call whose check points are stored."""
        call, client, plan, taken, run, payloads = plain
        topic, group = plan.spec.fields.topic, plan.spec.fields.consumer_group
        services, broker, renewed = self._services, self._pops.broker_name, plan.renewed
        taken.commit()
        if services.clients.note_admitted(client, connection):
            client.declare(client.declaration.with_subscription(group, topic, plan.wanted, taken.pop_time))
        delivery = Delivery(services, call, client, topic, group)
        call.undo = lambda: delivery.give_back(list(popped_messages(broker, taken.messages_reply(), renewed=renewed)))
        if renewed:
            services.held.add(client, topic, group, renewed_handles(run, broker))
        connection.answer_stream(call, stream_payloads(payloads, taken.pop_time))
