"""Apache's 4.9.7 answers missing, empty and malformed header fields as recorded.

`tests/server/test_header_variants.py` checks that rocketwire does the same. `python -m
compat_tests.test_header_variants` records again.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import tempfile
from pathlib import Path
from typing import Final, Self

from rocketwire.compat.brokers.endpoint import Apache, Endpoint, running
from rocketwire.wire.facts.codes import FLAG_RESPONSE
from tests.server.header_bases import ACCOUNTS, examine_all, examine_with_accounts
from tests.server.header_variants import (
    Examination,
    Outcomes,
    ServerAnswer,
    ServerRequest,
    answer_of_client,
    packed,
    parse_frame,
    unpacked,
)
from tests.wire.golden import HEADER_VARIANTS

_SILENT: Final = 30.0  # seconds after which no answer is one


class _Connection:
    """One connection, with one request at a time; the server's own requests are answered meanwhile."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), _SILENT)
        self._stream = self._socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stream.close()
        self._socket.close()

    def ask(self, question: ServerRequest) -> ServerAnswer:
        try:
            self._socket.sendall(question.frame)
            while True:
                opaque, flag, reported = parse_frame(self._received())
                if not flag & FLAG_RESPONSE:
                    answer = answer_of_client(opaque, flag, reported)
                    self._socket.sendall(answer or b"")
                elif opaque == question.opaque:
                    return reported
        except TimeoutError:
            return ServerAnswer(None)
        except ConnectionError:
            return ServerAnswer(None, closed=True)

    def _received(self) -> bytes:
        head = self._stream.read(4)
        if len(head) < 4:
            raise ConnectionError
        return self._stream.read(struct.unpack(">i", head)[0])


class _Connections:
    """An endpoint with a connection to each of its servers, made again when one ended or fell silent."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._addresses = {True: endpoint.broker, False: endpoint.namesrv}
        self._connections: dict[bool, _Connection] = {}

    def run(self, script: Examination) -> None:
        with contextlib.suppress(StopIteration), contextlib.ExitStack() as stack:
            question = next(script)
            while True:
                connection = self._connections.get(question.to_broker)
                if connection is None:
                    connection = stack.enter_context(_Connection(self._addresses[question.to_broker]))
                    self._connections[question.to_broker] = connection
                reported = connection.ask(question)
                if reported.code is None:
                    del self._connections[question.to_broker]
                question = script.send(reported)


def _outcomes(folder: Path) -> Outcomes:
    """The answers of new Apache brokers to all variants: one without access control, and one with it."""
    outcomes = Outcomes()
    with running(Apache(folder / "open")) as endpoint:
        _Connections(endpoint).run(examine_all(outcomes))
    conf = folder / "guarded" / "home" / "conf"
    conf.mkdir(parents=True)
    (conf / "plain_acl.yml").write_text(ACCOUNTS, "utf-8")
    with running(Apache(folder / "guarded", settings={"aclEnable": "true"})) as endpoint:
        _Connections(endpoint).run(examine_with_accounts(outcomes))
    return outcomes


def test_apache_answers_as_recorded(tmp_path: Path) -> None:
    assert _outcomes(tmp_path) == unpacked(HEADER_VARIANTS.read_text("utf-8"))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        HEADER_VARIANTS.write_text(packed(_outcomes(Path(folder))), "utf-8")
