"""The calls of the services offered: by the path of a request, how its messages are read and answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from google.protobuf.descriptor import FileDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from rocketwire.wire.grpc import health_pb2, reflection_v1_pb2, reflection_v1alpha_pb2, service_pb2


class RpcMethod(NamedTuple):
    """A call.

    Attributes:
        path: `/SERVICE/NAME`, the path of its requests.
        request: The class of its requests.
        response: The class of its responses.
        streams_requests: Whether the client sends any number of messages, one otherwise.
        streams_responses: Whether the server does.
    """

    path: str
    request: type[Message]
    response: type[Message]
    streams_requests: bool
    streams_responses: bool


def _methods(*files: FileDescriptor) -> Iterator[RpcMethod]:
    for file in files:
        for service in file.services_by_name.values():
            for method in service.methods:
                yield RpcMethod(
                    f"/{service.full_name}/{method.name}",
                    GetMessageClass(method.input_type),
                    GetMessageClass(method.output_type),
                    method.client_streaming,
                    method.server_streaming,
                )


METHODS: Final[Mapping[str, RpcMethod]] = MappingProxyType(
    {
        method.path: method
        for method in _methods(
            service_pb2.DESCRIPTOR,
            health_pb2.DESCRIPTOR,
            reflection_v1_pb2.DESCRIPTOR,
            reflection_v1alpha_pb2.DESCRIPTOR,
        )
    }
)
"""All of them, by path; also those that only answer UNIMPLEMENTED."""

ANONYMOUS: Final = frozenset(path for path in METHODS if not path.startswith("/apache.rocketmq."))
"""The paths that tools call at any gRPC server, without a client id and an account."""

STREAMING: Final = frozenset(method.path for method in METHODS.values() if method.streams_requests)
"""The paths whose requests are streams."""
