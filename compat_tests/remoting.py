"""A few remoting requests by hand, so that the tests' set-up trusts neither rocketwire's codec nor a client's.

A frame is a length (4 bytes, of all that follows), a header length (4 bytes, the upper one the serialise type, 0 =
JSON), the header and the body.
"""

from __future__ import annotations

import json
import re
import socket
import struct
from typing import Any, Final

GET_MAX_OFFSET: Final = 30
GET_ROUTE_BY_TOPIC: Final = 105
_TIMEOUT: Final = 5.0


def request(
    address: str, code: int, ext: dict[str, str] | None = None, body: bytes = b""
) -> tuple[dict[str, Any], bytes]:
    """The answer's header and body to one request. `address` is HOST:PORT or [IPV6]:PORT.

    Raises OSError when it does not answer.
    """
    host, _, port = address.rpartition(":")
    header = {
        "code": code,
        "flag": 0,
        "language": "JAVA",
        "opaque": 1,
        "version": 407,
        "extFields": ext or {},
    }
    packed = json.dumps(header).encode()
    with socket.create_connection((host.strip("[]"), int(port)), _TIMEOUT) as connection:
        connection.sendall(struct.pack(">II", 4 + len(packed) + len(body), len(packed)) + packed + body)
        frame = _exactly(connection, struct.unpack(">I", _exactly(connection, 4))[0])
    header_length = struct.unpack_from(">I", frame)[0] & 0xFFFFFF
    return json.loads(frame[4 : 4 + header_length]), frame[4 + header_length :]


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = connection.recv(count - len(data))
        if not part:
            raise ConnectionError(f"the connection ended after {len(data)} of {count} bytes")
        data += part
    return data


def max_offset(broker: str, topic: str, queue: int) -> int:
    """The offset that the queue's next message gets. Raises OSError when the broker does not answer."""
    header, _ = request(broker, GET_MAX_OFFSET, {"topic": topic, "queueId": str(queue)})
    assert header["code"] == 0, header
    return int(header["extFields"]["offset"])


def broker_addresses(namesrv: str, topic: str) -> set[str]:
    """The broker addresses in the topic's route; empty when the topic has none or the name server is away.

    Read with a pattern, not a JSON parser: name servers write the broker ids in `brokerAddrs` as bare numbers.
    """
    try:
        header, body = request(namesrv, GET_ROUTE_BY_TOPIC, {"topic": topic})
    except OSError:
        return set()
    return set(re.findall(r'"?\d+"?:"([^"]+:\d+)"', body.decode())) if header["code"] == 0 else set()
