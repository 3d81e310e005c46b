"""Health and reflection: calls that tools make to any gRPC server."""

from __future__ import annotations

from typing import Any, Final

from google.protobuf.descriptor import FileDescriptor
from google.protobuf.message import DecodeError

from rocketwire.server.grpc.calls import Call, Response
from rocketwire.server.grpc.transport.streams import MessageStream
from rocketwire.wire.grpc import health_pb2
from rocketwire.wire.grpc.codes import GrpcStatus
from rocketwire.wire.grpc.methods import METHODS
from rocketwire.wire.grpc.pool import POOL

_SERVICES: Final = frozenset(path.split("/")[1] for path in METHODS)
"""The full names of the services offered."""


def check(_services: object, _call: Call, request: health_pb2.HealthCheckRequest) -> Response:
    """Whether a service is offered; the empty name is the server."""
    return _health(request.service)


def watch(_services: object, _call: Call, request: health_pb2.HealthCheckRequest) -> Response:
    """The same, and no change of it: the server serves until it stops."""
    return [_health(request.service)]


def _health(service: str) -> health_pb2.HealthCheckResponse:
    known = not service or service in _SERVICES
    response = health_pb2.HealthCheckResponse
    return response(status=response.SERVING if known else response.SERVICE_UNKNOWN)


class Reflection:
    """The server's end of one stream of reflection, of either version: their messages have the same fields."""

    def __init__(self, stream: MessageStream, path: str) -> None:
        self._stream = stream
        self._method = METHODS[path]

    def received(self, payload: bytes) -> None:
        """Answer one request."""
        try:
            request: Any = self._method.request.FromString(payload)
        except DecodeError as error:
            self._stream.finish(GrpcStatus.INTERNAL, f"the request cannot be parsed: {error}")
            return
        response: Any = self._method.response(valid_host=request.host, original_request=request)
        try:
            _answer(request, response)
        except KeyError as error:
            response.error_response.error_code = GrpcStatus.NOT_FOUND
            response.error_response.error_message = str(error.args[0])
        self._stream.send(response)
        self._stream.connection.flush()

    def leaving(self) -> None:
        """Send nothing."""

    def closed(self) -> None:
        """Nothing is kept for it."""


def _answer(request: Any, response: Any) -> None:  # noqa: ANN401 - messages of either version
    match request.WhichOneof("message_request"):
        case "list_services":
            for name in sorted(_SERVICES):
                response.list_services_response.service.add(name=name)
        case "file_by_filename":
            _put(response, POOL.FindFileByName(request.file_by_filename))
        case "file_containing_symbol":
            _put(response, POOL.FindFileContainingSymbol(request.file_containing_symbol))
        case "all_extension_numbers_of_type":
            found = POOL.FindMessageTypeByName(request.all_extension_numbers_of_type)
            response.all_extension_numbers_response.base_type_name = found.full_name
        case "file_containing_extension":
            raise KeyError("there are no extensions")
        case _:
            response.error_response.error_code = GrpcStatus.UNIMPLEMENTED
            response.error_response.error_message = "unknown question"


def _put(response: Any, file: FileDescriptor) -> None:  # noqa: ANN401 - as above
    """A file and all that it imports, the imported ones last."""
    found: dict[str, FileDescriptor] = {}
    waiting = [file]
    while waiting:
        each = waiting.pop(0)
        if each.name not in found:
            found[each.name] = each
            waiting += each.dependencies
    response.file_descriptor_response.file_descriptor_proto.extend(each.serialized_pb for each in found.values())
