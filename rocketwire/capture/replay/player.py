"""Replaying a recording: its events in their order, each answer awaited before what was recorded behind it is sent.

So the endpoint sees the requests of all connections in the order in which the recorded one saw them.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from rocketwire.capture.contents.frames import RecordedFrame, response_name
from rocketwire.capture.contents.secrets import Secrets
from rocketwire.capture.errors import CannotReplay
from rocketwire.capture.file.events import ConnectionOpened, CutParts, Event, Role, StreamEnded, StreamSource
from rocketwire.capture.replay.compare import AnswerDifference, differences
from rocketwire.capture.replay.requests import UNSENDABLE, OffsetTranslation, names_of, prepared, target_of
from rocketwire.remoting.connection import BlockingConnection
from rocketwire.remoting.credentials import Signer
from rocketwire.remoting.errors import NotReached
from rocketwire.wire.addresses import Address
from rocketwire.wire.errors import WireError
from rocketwire.wire.frame import decode_frame, encode_frame
from rocketwire.wire.header import Header

_MICRO: Final = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayTarget:
    """The endpoint that requests are sent to.

    Attributes:
        name_server: Its name server.
        brokers: Gives its brokers' addresses by their names; called when the first is needed.
        tls: Encrypts the connections; None for plain ones.
        signer: Signs the requests; None to leave them unsigned.
        timeout: Seconds to wait for an answer, besides what the recorded one took.
    """

    name_server: Address
    brokers: Callable[[], Mapping[str, Address]]
    tls: ssl.SSLContext | None = None
    signer: Signer | None = None
    timeout: float = 15.0


@dataclass(slots=True)
class ReplayOutcome:
    """What a replay did: the numbers of requests sent, of answers compared, and of those that differ."""

    sent: int = 0
    compared: int = 0
    different: int = 0
    unsent: list[RecordedFrame] = field(default_factory=list)
    """Requests that the recording has without their body or without secrets."""
    lost: int = 0
    """Requests that could not be sent, or that the endpoint itself did not send."""

    @property
    def failed(self) -> bool:
        """Whether an answer differs, or a request is missing."""
        return bool(self.different or self.unsent or self.lost)


class RecordingPlayer:
    """Replays one recording.

    Args:
        events: Its events, frames decoded.
        target: The endpoint.
        speed: How many times as fast as recorded; None for as fast as answers come.
    """

    def __init__(self, events: Sequence[Event | RecordedFrame], target: ReplayTarget, *, speed: float | None) -> None:
        self._events = events
        self._target = target
        self._speed = speed
        self._names = names_of(events)
        self._brokers: Mapping[str, Address] | None = None
        self._peers: dict[int, BlockingConnection] = {}
        self._left_out: set[int] = set()
        self._places = OffsetTranslation()
        self.outcome = ReplayOutcome()

    def differences(self) -> Iterator[AnswerDifference]:
        """Replay, and give each difference as it is found.

        Raises:
            CannotReplay: there is no request in the recording, or the endpoint lacks a broker.
            NotReached: the endpoint cannot be reached.
        """
        if not any(
            isinstance(each, RecordedFrame) and each.sent.source is StreamSource.CLIENT for each in self._events
        ):
            raise CannotReplay("the recording has no request")
        began, first = time.monotonic(), None
        try:
            for event in self._events:
                moment = event.sent.time if isinstance(event, RecordedFrame) else event.time
                first = moment if first is None else first
                if self._speed is not None and not (
                    isinstance(event, RecordedFrame) and event.sent.source is StreamSource.SERVER
                ):
                    time.sleep(max(0.0, began + (moment - first) / _MICRO / self._speed - time.monotonic()))
                yield from self._step(event)
        finally:
            for peer in self._peers.values():
                peer.close()

    def _step(self, event: Event | RecordedFrame) -> Iterator[AnswerDifference]:
        if isinstance(event, ConnectionOpened):
            self._peers[event.connection] = BlockingConnection(
                event.role.name.lower().replace("_", " "),
                self._address(event),
                timeout=self._target.timeout,
                tls=self._target.tls,
            )
        elif isinstance(event, StreamEnded) and event.connection in self._peers:
            if event.source is StreamSource.CLIENT and not event.reason:
                self._peers[event.connection].end_sending()
            else:
                self._peers.pop(event.connection).close()
        elif isinstance(event, RecordedFrame) and event.sent.connection in self._peers:
            peer = self._peers[event.sent.connection]
            try:
                if event.sent.source is StreamSource.SERVER:
                    if event.header.is_response and event.request is not None:
                        yield from self._compared(peer, event)
                elif event.header.is_response:
                    self._answer(peer, event)
                else:
                    self._send_request(peer, event)
            except NotReached as error:
                yield self._lost(event, error.parts[1])

    def _address(self, opened: ConnectionOpened) -> Address:
        if opened.role is Role.NAME_SERVER:
            return self._target.name_server
        if self._brokers is None:
            self._brokers = self._target.brokers()
        return target_of(opened.server, self._names, self._brokers)

    def _send_request(self, peer: BlockingConnection, request: RecordedFrame) -> None:
        if request.sent.left & UNSENDABLE:
            self._left_out.add(request.number)
            self.outcome.unsent.append(request)
            return
        try:
            data = prepared(request, self._target.signer, self._places)
        except WireError as error:
            self._left_out.add(request.number)
            raise NotReached(peer.what, f"cannot be written: {error}") from error
        peer.send_frame(data, None if request.header.is_oneway else request.header.opaque)
        self.outcome.sent += 1

    def _compared(self, peer: BlockingConnection, recorded: RecordedFrame) -> Iterator[AnswerDifference]:
        request = recorded.request
        if request is None or request.number in self._left_out:
            return
        self.outcome.compared += 1
        took = (recorded.latency or 0) / _MICRO
        answer = peer.answer(recorded.header.opaque, self._target.timeout + took)
        self._places.learn(recorded, answer.ext, answer.body)
        header = msgspec.structs.replace(recorded.header, code=answer.code, remark=answer.remark, ext=answer.ext)
        body = answer.body
        if recorded.sent.left & (CutParts.SECRETS | CutParts.ACCOUNT):
            header, body = _masked(header, body, recorded)
        found = list(differences(recorded, header, body))
        self.outcome.different += bool(found)
        yield from found

    def _answer(self, peer: BlockingConnection, recorded: RecordedFrame) -> None:
        """Answer a request of the endpoint itself as the recorded client did."""
        if recorded.request is None or recorded.sent.left & UNSENDABLE:
            return
        request = peer.peer_request(recorded.request.header.code, self._target.timeout)
        header = msgspec.structs.replace(recorded.header, opaque=request.opaque)
        peer.send_frame(encode_frame(header, recorded.body, recorded.serialize_type), None)

    def _lost(self, event: RecordedFrame, reason: str) -> AnswerDifference:
        """The difference of an answer, or a request of the endpoint, that did not come."""
        if event.sent.source is StreamSource.SERVER:
            self.outcome.different += 1
            return _difference(event, "answer", response_name(event.header.code), reason)
        self.outcome.lost += 1
        return _difference(event, "request of the endpoint" if event.header.is_response else "request", "sent", reason)


def _difference(event: RecordedFrame, what: str, recorded: str, replayed: str) -> AnswerDifference:
    return AnswerDifference(event.number, event.sent.connection, event.code_name, what, recorded, replayed)


def _masked(header: Header, body: bytes, recorded: RecordedFrame) -> tuple[Header, bytes]:
    """An answer with the masks that the recorded one has."""
    data = encode_frame(header, body, recorded.serialize_type)
    masked = Secrets().masked(data, header, body, recorded.serialize_type, recorded.code)
    frame = decode_frame(masked.data)
    return frame.header, bytes(frame.body)
