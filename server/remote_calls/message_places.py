"""Requests that name a message by its physical offset, where a broker far away has the message.

The broker is queried for the message there, and by the entry of its consume queue whether it is one: the body of a
message may contain bytes in the form of a record of any topic. Access control decides by the message's topic then.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import trio
from msgspec.structs import replace

from rocketwire.remoting.core.session import ClientRequest, Response
from rocketwire.server.acl.message_owner import NoMessageThere, real_topic
from rocketwire.server.core.errors import TransactionNotFound
from rocketwire.server.core.server_error import ServerError
from rocketwire.server.messages.stored_message import stored_message
from rocketwire.server.upstream.broker_connection import OnAnswer
from rocketwire.server.upstream.connecting import UpstreamConnectionError
from rocketwire.server.upstream.connection_pool import ConnectionPool
from rocketwire.wire.addresses import Address
from rocketwire.wire.bodies import decode_body
from rocketwire.wire.bodies.progress import QueryConsumeQueueResponseBody
from rocketwire.wire.errors import RecordInvalid, WireError
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.headers.query import QueryConsumeQueueRequestHeader, ViewMessageRequestHeader
from rocketwire.wire.names import HALF_TOPICS

if TYPE_CHECKING:  # for annotations: it needs a YAML parser, imported only where access control is on
    from rocketwire.server.acl.control import AccessControl
    from rocketwire.server.core.request import CallSignature, Peer, Request
    from rocketwire.wire.header import Header

log = logging.getLogger(__name__)

_PAUSES: Final = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
"""How long to wait for the entry of a message in its consume queue, in seconds: Apache's brokers write it later."""
_ACCESS_CONTROL: Final = "AclException"


class MessageNotShown(ServerError):
    """A broker does not return the message at a physical offset."""

    def __init__(self, place: int) -> None:
        super().__init__(f"the broker does not show the proxy the message at offset {place} of the commit log")


class _Message(NamedTuple):
    """The topic that a message is for, and its place in the queue where it is stored."""

    real_topic: str
    topic: str
    queue_id: int
    queue_offset: int


class MessagePlaces:
    """Decides about requests by the topics of the messages that they name.

    Args:
        access: Access control.
        pool: The connections to brokers, signed with the proxy's account if it has one.
    """

    def __init__(self, access: AccessControl, pool: ConnectionPool) -> None:
        self._access = access
        self._pool = pool
        self._complaint = ""

    def to_decide(self, peer: Peer, header: Header, proof: CallSignature | None = None) -> int | None:
        """See `AccessControl.undecided_offset`."""
        return self._access.undecided_offset(peer, header, proof)

    def checked_again(self, request: Request[Any], ext: Mapping[str, str], done: OnAnswer) -> OnAnswer:
        """What takes the answer to a request that a broker may hold: one that may not be had any more is refused.

        Args:
            request: The request, which is admitted.
            ext: Its fields.
            done: What takes the answer, or the refusal.
        """
        proof = request.call_signature
        remote = request.peer.remote_text if proof is None else proof.remote_text
        grant = self._access.grant(request.peer, replace(request.header, ext=dict(ext)), request.body, proof)

        def checked(found: Response | UpstreamConnectionError) -> None:
            if isinstance(found, Response) and (grant is None or not self._access.is_still_granted(remote, grant)):
                found = Response(ResponseCode.NO_PERMISSION, f"{_ACCESS_CONTROL}: the accounts have changed", {}, b"")
            done(found)

        return checked

    async def decide(
        self, peer: Peer, header: Header, place: int, broker: Address, proof: CallSignature | None = None
    ) -> None:
        """Decide about a request that `to_decide` gave a place for.

        Args:
            peer: The connection of the request.
            header: Its header.
            place: The physical offset that it names.
            broker: The broker that it is for.
            proof: The signature, if the header has no fields for it.

        Raises:
            AccessRefused: the account has no permission for the topic of the message.
            NoMessageThere: no message begins at the place.
            TransactionNotFound: a transaction is to be ended, and the message is no half message.
            MessageNotShown: the broker does not answer, or refuses the query.
        """
        try:
            message = await self._message_at(broker, place)
        except UpstreamConnectionError as error:
            self._complain(str(error))
            raise MessageNotShown(place) from error
        if message is None:
            return
        self._access.admit_message(peer, header, message.real_topic, proof)
        # Apache's brokers commit any message, to the topic that a property of it names.
        if header.code == RequestCode.END_TRANSACTION and message.topic not in HALF_TOPICS:
            raise TransactionNotFound

    async def _message_at(self, broker: Address, place: int) -> _Message | None:
        """The message at a physical offset; None: the broker has accounts, and decides by the client's signature."""
        request = ClientRequest(RequestCode.VIEW_MESSAGE_BY_ID, ViewMessageRequestHeader(offset=place))
        answer = await self._pool.send_request(broker, request)
        if answer.code != ResponseCode.SUCCESS:
            if not _is_denied(answer):
                raise NoMessageThere(place)
            if not self._pool.signs:
                return None
            raise UpstreamConnectionError(f"{broker} refuses to show it: {answer.remark}")
        message = _read(answer.body, place)
        del answer  # it may be large, and many may be queried
        if not await self._is_in_queue(broker, message, place):
            raise NoMessageThere(place)
        return message

    async def _is_in_queue(self, broker: Address, message: _Message, place: int) -> bool:
        """Whether the message's consume queue leads to it, perhaps in a moment."""
        header = QueryConsumeQueueRequestHeader(
            topic=message.topic, queue_id=message.queue_id, index=message.queue_offset, count=1
        )
        for pause in (*_PAUSES, None):
            answer = await self._pool.send_request(broker, ClientRequest(RequestCode.QUERY_CONSUME_QUEUE, header))
            entry = _first_entry(answer)
            if entry is not None or pause is None:
                return entry == place
            await trio.sleep(pause)
        return False

    def _complain(self, reason: str) -> None:
        if reason != self._complaint:
            self._complaint = reason
            log.warning("a message by whose topic to decide is not known: %(reason)s", {"reason": reason})


def _read(record: bytes, place: int) -> _Message:
    """The message of the record at a physical offset.

    Raises:
        NoMessageThere: it is not the record of that place.
    """
    try:
        message = stored_message(memoryview(record))
    except RecordInvalid:
        raise NoMessageThere(place) from None
    if message.physical_offset != place:
        raise NoMessageThere(place)
    return _Message(real_topic(message), message.topic, message.queue_id, message.queue_offset)


def _is_denied(answer: Response) -> bool:
    """Whether a broker refuses by its access control: 4.x has that in the remark, 5.x in the code."""
    return answer.code == ResponseCode.NO_PERMISSION or _ACCESS_CONTROL in (answer.remark or "")


def _first_entry(answer: Response) -> int | None:
    """The physical offset of the first entry of an answer; None: it has none.

    Raises:
        UpstreamConnectionError: the broker refuses, or cannot be understood.
    """
    if _is_denied(answer):
        raise UpstreamConnectionError(f"the broker refuses to show the entries of consume queues: {answer.remark}")
    if not answer.body:
        return None
    try:
        entries = decode_body(QueryConsumeQueueResponseBody, answer.body).queue_data
    except WireError as error:
        raise UpstreamConnectionError(f"the broker's answer cannot be read: {error}") from error
    return entries[0].physic_offset if entries else None
