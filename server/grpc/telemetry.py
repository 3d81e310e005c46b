"""Telemetry: the stream on which a client sends its settings, and on which the broker sends it commands."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count, islice
from typing import Any, Final

from google.protobuf.message import DecodeError

from rocketwire.remoting.core.session import Response
from rocketwire.remoting.core.steps import Operation
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.request import OnClientAnswer, Reply
from rocketwire.server.grpc.calls import Call, named_account, serve
from rocketwire.server.grpc.clients import GrpcClient, GrpcClients
from rocketwire.server.grpc.consuming.handles import HeldDeliveries
from rocketwire.server.grpc.metadata import CLIENT_ID, read_language
from rocketwire.server.grpc.settings import SettingsServices, check_size, group_config_request, merge_settings
from rocketwire.server.grpc.statuses import OK, status_of_error, status_of_reply
from rocketwire.server.grpc.tables.client_ids import ClientIdOwner, ClientIdTaken
from rocketwire.server.grpc.tables.declarations import ClientDeclaration
from rocketwire.server.grpc.transactions import PendingTransactions
from rocketwire.server.grpc.transport.streams import MessageStream
from rocketwire.server.net.client_calls import ClientCalls
from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.client import HeartbeatData
from rocketwire.wire.bodies.online import ConsumeMessageDirectlyResult, ConsumeResult, ConsumerRunningInfo
from rocketwire.wire.facts.codes import VERSION_5_0_0, RequestCode, ResponseCode
from rocketwire.wire.grpc.answers import make_status
from rocketwire.wire.grpc.checks import check_client_id, check_group
from rocketwire.wire.grpc.codes import Code, GrpcStatus, stream_status
from rocketwire.wire.grpc.definition_pb2 import Message, Settings
from rocketwire.wire.grpc.receiving import delivered_message
from rocketwire.wire.grpc.service_pb2 import (
    HeartbeatRequest,
    HeartbeatResponse,
    NotifyClientTerminationRequest,
    NotifyClientTerminationResponse,
    PrintThreadStackTraceCommand,
    ReconnectEndpointsCommand,
    RecoverOrphanedTransactionCommand,
    SyncLiteSubscriptionRequest,
    SyncLiteSubscriptionResponse,
    TelemetryCommand,
    VerifyMessageCommand,
)
from rocketwire.wire.headers import decode_ext
from rocketwire.wire.headers.client import UnregisterClientRequestHeader
from rocketwire.wire.headers.transaction import CheckTransactionStateRequestHeader
from rocketwire.wire.java import INT32_MAX, parse_natural_number
from rocketwire.wire.message import decode_record

log = logging.getLogger(__name__)

_GIVEN_BACK_AT_ONCE: Final = 64
_REMARK: Final = "from gRPC client"
_VERIFIED: Final[dict[int, ConsumeResult]] = {
    Code.OK: ConsumeResult.CR_SUCCESS,
    Code.FAILED_TO_CONSUME_MESSAGE: ConsumeResult.CR_LATER,
    Code.MESSAGE_CORRUPTED: ConsumeResult.CR_RETURN_NULL,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetryServices:
    """The services of telemetry, heartbeats and terminations."""

    clients: GrpcClients
    clock: Clock
    pending: PendingTransactions
    settings: SettingsServices
    held: HeldDeliveries


def registration(
    services: TelemetryServices, call: Call, client: GrpcClient, declaration: ClientDeclaration
) -> Operation[Any]:
    """Make a client a member of its groups, as a heartbeat does; returns the reply, None if nothing is registered.

    The client counts as connected and its declaration holds from then on: those of a client that the guards refuse
    do not.
    """
    groups = services.settings.groups
    if declaration.group and groups.needs_request(declaration.group):
        yield from serve(group_config_request(call, declaration.group))
    data = declaration.heartbeat(client.client_id)
    if data is None and call.connection.guarded:
        data = HeartbeatData(client_id=client.client_id)  # the guards are to see it
    reply = None
    if data is not None:
        (reply,) = yield from serve(
            call.request(
                RequestCode.HEART_BEAT,
                None,
                encode_body(data),
                peer=client,
                language=read_language(call.headers),
                version=VERSION_5_0_0,
            )
        )
    admitted = reply is None or reply.code == ResponseCode.SUCCESS
    if admitted and services.clients.note_admitted(client, call.connection):
        client.declare(declaration)
    return reply


def heartbeat(services: TelemetryServices, call: Call, request: HeartbeatRequest) -> Operation[Any]:
    """Register a client again; of one that has not sent settings, no more is known than what it receives."""
    client = services.clients.find_or_make(call.client_id, call.connection, call.account, speaks=True)
    declaration = client.declaration
    if not declaration.group and request.HasField("group"):
        check_group(request.group.name)
        declaration = declaration._replace(group=request.group.name)
    reply = yield from registration(services, call, client, declaration)
    return HeartbeatResponse(status=OK if reply is None else status_of_reply(reply))


def terminate(services: TelemetryServices, call: Call, _request: NotifyClientTerminationRequest) -> Operation[Any]:
    """Forget a client that leaves; what it holds becomes visible again at once."""
    client = services.clients.find_spoken_for(call.client_id, call.connection, call.account)
    if client is None:
        return NotifyClientTerminationResponse(status=OK)
    header = UnregisterClientRequestHeader(client_id=client.client_id, consumer_group=client.declaration.group or None)
    (reply,) = yield from serve(call.request(RequestCode.UNREGISTER_CLIENT, header, peer=client))
    # While the request was pending, the client may have closed, or opened its stream at another address.
    still = services.clients.find_spoken_for(call.client_id, call.connection, call.account) is client
    if still and reply.code == ResponseCode.SUCCESS:
        held = services.held.take_out(client, services.clock())
        services.clients.leave(client, for_good=True)
        while some := list(islice(held, _GIVEN_BACK_AT_ONCE)):
            yield from serve(*[handle.change_request(call, topic, group, 0) for topic, group, handle in some])
    return NotifyClientTerminationResponse(status=status_of_reply(reply))


def sync_lite(_services: object, _call: Call, _request: SyncLiteSubscriptionRequest) -> SyncLiteSubscriptionResponse:
    """Refuse lite topics."""
    return SyncLiteSubscriptionResponse(status=make_status(Code.NOT_IMPLEMENTED, "lite topics are not supported"))


class TelemetrySession:
    """The broker's end of one telemetry stream."""

    def __init__(self, services: TelemetryServices, stream: MessageStream) -> None:
        self._services = services
        self._stream = stream
        self._client: GrpcClient | None = None
        self._nonces = count(1)
        self._calls = ClientCalls(stream.connection.nursery, stream.connection.in_flight)

    # --- from the client

    def received(self, payload: bytes) -> None:
        """Take a command of the client."""
        try:
            command = TelemetryCommand.FromString(payload)
            match command.WhichOneof("command"):
                case "settings":
                    self._settle(command.settings)
                case "thread_stack_trace":
                    trace = command.thread_stack_trace
                    info = ConsumerRunningInfo(jstack=trace.thread_stack_trace)
                    self._answered(trace.nonce, command.status.code, encode_body(info))
                case "verify_message_result":
                    verified = _VERIFIED.get(command.status.code)  # None for a code of a newer SDK
                    result = ConsumeMessageDirectlyResult(consume_result=verified, remark=_REMARK)
                    self._answered(command.verify_message_result.nonce, Code.OK, encode_body(result))
                case _:
                    pass  # of a newer SDK
        except DecodeError as error:
            self._stream.finish(GrpcStatus.INTERNAL, f"the command cannot be parsed: {error}")
        except Exception as error:  # noqa: BLE001 - an unforeseen one is logged; it ends this stream alone
            self._end(error)

    def _settle(self, settings: Settings) -> None:
        """Take a client's settings, make it a member of its groups, and answer with the settings in force."""
        stream, services = self._stream, self._services
        check_client_id(stream.headers.get(CLIENT_ID, ""))
        connection = stream.connection
        account = named_account(stream.headers, connection)
        client = services.clients.find_or_make(stream.headers[CLIENT_ID], connection, account, speaks=True)
        check_size(settings, connection.in_flight.limits.keys.current.max_heartbeat_bytes)
        declaration = client.declaration.with_settings(settings, services.clock())

        def done(found: Reply | Exception | None) -> None:
            if stream.is_over:
                return  # its client has another one, or will have
            if isinstance(found, Exception):
                self._end(found)
            elif found is not None and found.code != ResponseCode.SUCCESS:
                status = status_of_reply(found)
                stream.finish(stream_status(Code(status.code)), status.message)
            elif client.closed:  # its former connection was closed meanwhile
                try:
                    self._settle(settings)
                except Exception as error:  # noqa: BLE001 - an unforeseen one is logged; it ends this stream alone
                    self._end(error)
            else:
                self._opened(client, settings)

        connection.carry_out(stream, lambda call: registration(services, call, client, declaration), done)

    def _opened(self, client: GrpcClient, settings: Settings) -> None:
        try:
            client.stream_opened(self, self._stream.connection)
        except ClientIdTaken as error:
            self._end(error)
            return
        self._client = client
        settings = merge_settings(self._services.settings, settings)
        self._stream.send(TelemetryCommand(status=OK, settings=settings))

    def end_for_another_address(self, owner: ClientIdOwner) -> None:
        """End the stream: the client has opened one at another address."""
        self._end(owner.used_elsewhere())
        self._stream.connection.flush()

    def _end(self, error: Exception) -> None:
        status = status_of_error(error)
        self._stream.finish(stream_status(Code(status.code)), status.message)

    def leaving(self) -> None:
        """Have the client reconnect."""
        if self._client is not None:
            nonce = str(next(self._nonces) & INT32_MAX)
            self._stream.send(
                TelemetryCommand(status=OK, reconnect_endpoints_command=ReconnectEndpointsCommand(nonce=nonce))
            )

    def closed(self) -> None:
        """The stream is over."""
        self._calls.close()
        if self._client is not None:
            self._client.stream_ended(self)

    # --- from the broker

    @property
    def place(self) -> str:
        """The client's address, as its connection has it."""
        return self._stream.connection.place

    @property
    def congested(self) -> bool:
        """Whether the client does not read."""
        return self._stream.connection.congested

    def push(self, code: int, ext: Mapping[str, str], body: bytes) -> None:
        """Have an orphaned transaction recovered; 5.x clients have no use for the broker's other requests."""
        if code != RequestCode.CHECK_TRANSACTION_STATE or self.congested:
            return
        header = decode_ext(CheckTransactionStateRequestHeader, dict(ext))
        message = _message(body)
        transaction_id = header.transaction_id or ""
        self._services.pending.add(
            message.topic.name,
            transaction_id,
            header.tran_state_table_offset,
            header.commit_log_offset,
            header.bname,
        )
        self._send(
            TelemetryCommand(
                status=OK,
                recover_orphaned_transaction_command=RecoverOrphanedTransactionCommand(
                    message=message, transaction_id=transaction_id
                ),
            )
        )

    def call(self, code: int, ext: Mapping[str, str], body: bytes, seconds: float, done: OnClientAnswer) -> None:
        """Have a message verified, or the threads' stacks printed; there is no answer to anything else."""
        del ext
        nonce = next(self._nonces) & INT32_MAX
        if self.congested or self._calls.full:
            done(None)
            return
        command = TelemetryCommand(status=OK)
        if code == RequestCode.GET_CONSUMER_RUNNING_INFO:
            command.print_thread_stack_trace_command.CopyFrom(PrintThreadStackTraceCommand(nonce=str(nonce)))
        elif code == RequestCode.CONSUME_MESSAGE_DIRECTLY:
            command.verify_message_command.CopyFrom(VerifyMessageCommand(nonce=str(nonce), message=_message(body)))
        else:
            done(None)
            return
        self._calls.add(nonce, size=len(body), seconds=seconds, done=done)
        self._send(command)

    def _send(self, command: TelemetryCommand) -> None:
        self._stream.send(command)
        self._stream.connection.flush()

    def _answered(self, nonce: str, code: int, body: bytes) -> None:
        number = parse_natural_number(nonce, INT32_MAX)
        if number is not None:
            response = ResponseCode.SUCCESS if code == Code.OK else ResponseCode.SYSTEM_ERROR
            more = self._calls.match_answer(number, Response(code=response, remark=None, ext={}, body=body))
            if more is not None:
                self._stream.connection.carry_on(more)


def _message(record: bytes) -> Message:
    """A stored message as a client gets it."""
    found = decode_record(record)
    return delivered_message(found, topic=found.topic)
