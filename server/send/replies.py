"""Replies to requests: forwarded to the producer of the request, on one of its connections.

The producer puts its client id into the request (REPLY_TO_CLIENT), and the consumer's reply carries it. The broker
finds the producer's connection and waits until the producer has received the reply, so that the consumer learns the
outcome.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from rocketwire.remoting.core.session import Response
from rocketwire.server.clients.groups import ClientGroups
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.wire.addresses import Address
from rocketwire.wire.errors import WireError
from rocketwire.wire.facts import properties as property_names
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.headers import encode_ext
from rocketwire.wire.headers.send import ReplyMessageRequestHeader, SendMessageRequestHeader
from rocketwire.wire.hosts import decode_host
from rocketwire.wire.properties import decode_properties, encode_properties

log = logging.getLogger(__name__)

CALL_SECONDS: Final = 10.0

OnForwarded = Callable[[str | None], None]
"""Called once: with None when the producer has the reply, else with the remark that has the reason."""


class ReplyForwarder:
    """Hands replies to producers."""

    def __init__(self, clients: ClientGroups, clock: Clock, store_host: bytes) -> None:
        self._clients = clients
        self._clock = clock
        host, port = decode_host(store_host)
        self._store_host = str(Address(host=host, port=port))

    def forward(self, fields: SendMessageRequestHeader, body: bytes, born_host: str, done: OnForwarded) -> None:
        """Hand a reply to the producer it is for; `born_host` is the consumer's ``host:port``.

        `done` may be called before this returns.
        """
        properties = decode_properties(fields.properties or "")
        client_id = properties.get(property_names.REPLY_TO_CLIENT)
        if client_id is None:
            done(f"reply message properties[{property_names.REPLY_TO_CLIENT}] is null")
            return
        peer = self._clients.producer_by_client_id(client_id)
        if peer is None:
            log.warning("reply for %(client_id)s: no such producer", {"client_id": client_id})
            done(f"push reply message fail, channel of <{client_id}> not found.")
            return

        def answered(answer: Response | None) -> None:
            if answer is not None and answer.code == ResponseCode.SUCCESS:
                done(None)
                return
            why = "no answer" if answer is None else f"code {answer.code}, {answer.remark}"
            log.warning(
                "reply for %(client_id)s at %(peer)s: %(reason)s",
                {"client_id": client_id, "peer": peer.remote_text, "reason": why},
            )
            done(f"push reply message to {client_id}fail.")

        ext = encode_ext(self._header(fields, properties, born_host))
        try:
            peer.call(RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT, ext, body, seconds=CALL_SECONDS, done=answered)
        except WireError as error:  # the reply filled its frame, and the header that carries it on is longer
            done(str(error))

    def _header(
        self, fields: SendMessageRequestHeader, properties: dict[str, str], born_host: str
    ) -> ReplyMessageRequestHeader:
        now = self._clock()
        return ReplyMessageRequestHeader(
            producer_group=fields.producer_group,
            topic=fields.topic,
            default_topic=fields.default_topic,
            default_topic_queue_nums=fields.default_topic_queue_nums,
            queue_id=fields.queue_id,
            sys_flag=fields.sys_flag,
            born_timestamp=fields.born_timestamp,
            flag=fields.flag,
            properties=encode_properties({**properties, property_names.PUSH_REPLY_TIME: str(now)}),
            reconsume_times=fields.reconsume_times,
            unit_mode=bool(fields.unit_mode),
            born_host=born_host,
            store_host=self._store_host,
            store_timestamp=now,
        )
