"""Requests that the broker forwards to clients: to one member of a group, or to several at once.

Nothing here waits: the answers come later on the clients' connections, each within its time limit.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Final

from rocketwire.remoting.core.session import Response
from rocketwire.remoting.core.steps import Operation
from rocketwire.server.clients.groups import ClientGroups
from rocketwire.server.clients.members import GroupMember
from rocketwire.server.core.client_errors import (
    ClientBusy,
    ClientNotOnline,
    ClientOutdated,
    ClientSilent,
    ClientTooOld,
    GroupEmpty,
)
from rocketwire.server.core.errors import (
    ServerError,
)
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.core.long_tasks import LARGE_BODY_BYTES, MAX_ANSWER_BYTES, InThread, check_answer
from rocketwire.server.core.request import Peer
from rocketwire.wire.bodies import decode_body, encode_body
from rocketwire.wire.bodies.online import GetConsumerStatusBody
from rocketwire.wire.errors import BodyInvalid
from rocketwire.wire.facts.codes import RequestCode, ResponseCode, version_name
from rocketwire.wire.headers import encode_ext
from rocketwire.wire.headers.online import GetConsumerStatusRequestHeader

log = logging.getLogger(__name__)

_HANDED_ON_SECONDS: Final = 10.0
_STATUS_SECONDS: Final = 5.0
_OLDEST_ANSWERING: Final = 62  # V3_1_8_SNAPSHOT
_OLDEST_WITH_STATUS: Final = 28  # V3_0_7_SNAPSHOT

_START: Final = b'{"consumerTable":{'
_END: Final = b'},"messageQueueTable":{}}'


def forward_to_client(
    clients: ClientGroups,
    group: str,
    client_id: str,
    code: int,
    ext: dict[str, str],
    body: bytes,
    done: Callable[[Response | ServerError], None],
) -> None:
    """Forward a request to one member of a group; `done` gets its answer, or the error if it gives none in 10 s.

    Raises:
        ClientNotOnline: the group has no such member.
        ClientTooOld: the member does not know such requests.
    """
    peer = clients.consumer_by_client_id(group, client_id)
    consumers = clients.consumer(group)
    if peer is None or consumers is None:
        raise ClientNotOnline(group, client_id)
    version = consumers.members[peer].version
    if version < _OLDEST_ANSWERING:
        raise ClientTooOld(client_id, version_name(version))
    problem: ServerError = ClientBusy(group, client_id, peer.remote_text)

    def answered(answer: Response | None) -> None:
        done(answer or problem)

    peer.call(code, ext, body, seconds=_HANDED_ON_SECONDS, done=answered)
    problem = ClientSilent(group, client_id, peer.remote_text, _HANDED_ON_SECONDS)  # the error after the time limit


def consumer_status(
    clients: ClientGroups,
    group: str,
    topic: str,
    client_id: str | None,
    done: Callable[[bytes | LimitExceeded], None],
) -> None:
    """Query members of a group for their offsets in a topic: the one with `client_id`, or all.

    `done` is called once, when all have answered or after 5 s, with an encoded `GetConsumerStatusBody` of the answers
    that came; or with the error that this is too much.

    Raises:
        GroupEmpty: no member of the group is connected.
        ClientOutdated: a member is too old for this; no request is sent.
    """
    consumers = clients.consumer(group)
    if consumers is None:
        raise GroupEmpty(group)
    for member in consumers.members.values():
        if member.version < _OLDEST_WITH_STATUS:
            raise ClientOutdated(version_name(member.version))
    members = [each for each in consumers.members.items() if not client_id or each[1].client_id == client_id]
    _StatusRound(members, done).send(encode_ext(GetConsumerStatusRequestHeader(topic=topic, group=group)))


class _StatusRound:
    """One request to several members. Each one's offsets are encoded as they come: all at once would take long."""

    def __init__(self, members: list[tuple[Peer, GroupMember]], done: Callable[[bytes | LimitExceeded], None]) -> None:
        self._members = members
        self._done = done
        self._open = len(members)
        self._found: dict[str, bytes] = {}
        self._size = 0

    def send(self, ext: dict[str, str]) -> None:
        """Send the request to all; without members, finish at once."""
        if not self._members:
            self._finish()
        for peer, member in self._members:
            self._send_one(peer, member.client_id, ext)

    def _send_one(self, peer: Peer, client_id: str, ext: dict[str, str]) -> None:
        def answered(answer: Response | None) -> Operation[None] | None:
            has_status = answer is not None and answer.code == ResponseCode.SUCCESS and bool(answer.body)
            if answer is not None and has_status:
                return self._take(client_id, answer.body)
            self._close_one()
            return None

        peer.call(RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT, ext, b"", seconds=_STATUS_SECONDS, done=answered)

    def _take(self, client_id: str, body: bytes) -> Operation[None]:
        try:
            if self._size <= MAX_ANSWER_BYTES:  # otherwise it is too much already
                entry = (
                    (yield InThread(partial(_entry, client_id, body)))
                    if len(body) > LARGE_BODY_BYTES
                    else _entry(client_id, body)
                )
                self._size += len(entry) - len(self._found.get(client_id, b""))
                self._found[client_id] = entry
        except BodyInvalid as error:
            log.warning("consumer status of %(client_id)s: %(reason)s", {"client_id": client_id, "reason": error})
        finally:
            self._close_one()

    def _close_one(self) -> None:
        self._open -= 1
        if not self._open:
            self._finish()

    def _finish(self) -> None:
        try:
            check_answer(self._size)
        except LimitExceeded as error:
            self._done(error)
        else:
            self._done(_START + b",".join(self._found.values()) + _END)


def _entry(client_id: str, body: bytes) -> bytes:
    """One client's offsets as an entry of the table of all."""
    offsets = decode_body(GetConsumerStatusBody, body).message_queue_table
    alone = encode_body(GetConsumerStatusBody(consumer_table={client_id: offsets}))
    return alone.removeprefix(_START).removesuffix(_END)
