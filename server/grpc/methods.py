"""The methods of the protocol: how each is carried out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from rocketwire.remoting.core.steps import Operation
from rocketwire.server.grpc import introspection, routing, sending, telemetry, transactions
from rocketwire.server.grpc.calls import Call, GrpcMethod, MethodKind, Response
from rocketwire.server.grpc.consuming import acknowledging, receiving
from rocketwire.server.grpc.consuming.batch_acks import read_acks
from rocketwire.server.grpc.transport.streams import MessageStream, StreamFactory
from rocketwire.wire.grpc.answers import delivered_response
from rocketwire.wire.grpc.methods import METHODS

_SERVICE: Final = "/apache.rocketmq.v2.MessagingService/"
_HEALTH: Final = "/grpc.health.v1.Health/"
_TELEMETRY: Final = f"{_SERVICE}Telemetry"


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The services of the methods, by subject."""

    acknowledging: acknowledging.AcknowledgingServices
    receiving: receiving.ReceivingServices
    routing: routing.RoutingServices
    sending: sending.SendingServices
    telemetry: telemetry.TelemetryServices
    transactions: transactions.TransactionServices


def methods(services: Services) -> Mapping[str, GrpcMethod]:
    """The methods that have one request, by path."""
    found: dict[str, tuple[Callable[[Any, Call, Any], Operation[Any] | Response], object]] = {
        "QueryRoute": (routing.query_route, services.routing),
        "QueryAssignment": (routing.query_assignment, services.routing),
        "SendMessage": (sending.send, services.sending),
        "ReceiveMessage": (receiving.receive, services.receiving),
        "AckMessage": (acknowledging.acknowledge, services.acknowledging),
        "ChangeInvisibleDuration": (acknowledging.change_invisible, services.acknowledging),
        "ForwardMessageToDeadLetterQueue": (acknowledging.forward_to_dead_letters, services.acknowledging),
        "RecallMessage": (sending.recall, services.sending),
        "EndTransaction": (transactions.end_transaction, services.transactions),
        "Heartbeat": (telemetry.heartbeat, services.telemetry),
        "NotifyClientTermination": (telemetry.terminate, services.telemetry),
        "SyncLiteSubscription": (telemetry.sync_lite, None),
    }
    table = {f"{_SERVICE}{name}": _method(f"{_SERVICE}{name}", *each) for name, each in found.items()}
    receives = f"{_SERVICE}ReceiveMessage"
    clock = services.receiving.clock
    table[receives] = replace(table[receives], last=lambda: delivered_response(clock()))
    acks = f"{_SERVICE}AckMessage"
    table[acks] = replace(table[acks], read=read_acks)
    for name, carry_out in (("Check", introspection.check), ("Watch", introspection.watch)):
        path = f"{_HEALTH}{name}"
        table[path] = _method(path, carry_out, None, anonymous=True, watched=name == "Watch")
    return table


def streams(services: Services) -> Mapping[str, StreamFactory]:
    """The methods whose requests are streams, by path."""
    table: dict[str, StreamFactory] = {_TELEMETRY: partial(telemetry.TelemetrySession, services.telemetry)}
    for path, method in METHODS.items():
        if method.streams_requests and path != _TELEMETRY:
            table[path] = partial(_reflection, path)
    return table


def _reflection(path: str, stream: MessageStream) -> introspection.Reflection:
    return introspection.Reflection(stream, path)


def _method(
    path: str,
    carry_out: Callable[[Any, Call, Any], Operation[Any] | Response],
    services: object,
    *,
    anonymous: bool = False,
    watched: bool = False,
) -> GrpcMethod:
    declared = METHODS[path]
    kind = MethodKind.STREAM if declared.streams_responses else MethodKind.UNARY
    return GrpcMethod(
        declared.request.FromString,
        declared.response,
        partial(carry_out, services),
        MethodKind.WATCH if watched else kind,
        anonymous,
    )
