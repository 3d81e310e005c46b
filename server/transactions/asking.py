"""Asking a producer what became of its half message (39): any living one of the group, in turn.

The body is the half message as it was, with its real topic and queue, under the offsets of its newest copy. As in
Apache's, WAIT is false in it and the size of the record counts anew.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from rocketwire.server.groups import ClientGroups
from rocketwire.server.request import Peer
from rocketwire.server.stored_message import StoredMessage, stored_text
from rocketwire.server.transactions.half import said_by
from rocketwire.wire import properties as property_names
from rocketwire.wire.codes import RequestCode
from rocketwire.wire.errors import WireError
from rocketwire.wire.headers import encode_ext
from rocketwire.wire.headers.transaction import CheckTransactionStateRequestHeader
from rocketwire.wire.hosts import decode_host
from rocketwire.wire.message import Message, encode_record
from rocketwire.wire.message_id import offset_message_id

log = logging.getLogger(__name__)


class Asking:
    """Asks the producers of one broker."""

    def __init__(self, clients: ClientGroups, *, store_host: bytes) -> None:
        self._clients = clients
        self._store_host = store_host
        self._turn = 0

    def has_to_wait(self, group: str) -> bool:
        """Whether producers of a group are here, and all of them have more to read than they do for now."""
        producers = self._clients.producers(group)
        return bool(producers) and all(peer.congested for peer, _ in producers)

    def ask(self, half: StoredMessage, copy: tuple[int, int], properties: Mapping[str, str]) -> None:
        """Ask about a half message; without a producer, or of a message that is for no queue, nobody is asked.

        Args:
            half: The message.
            copy: Physical and queue offset of its newest copy.
            properties: That copy's.
        """
        group = properties.get(property_names.PRODUCER_GROUP, "")
        peer = self._producer(group)
        text = stored_text({**properties, property_names.WAIT: "false"})
        queue = said_by(text).queue
        if peer is None or queue is None:
            log.info("nobody of producer group %s is here to be asked about a transaction", group)
            return
        physical_offset, queue_offset = copy
        key = properties.get(property_names.UNIQ_KEY)
        header = CheckTransactionStateRequestHeader(
            tran_state_table_offset=queue_offset,
            commit_log_offset=physical_offset,
            msg_id=key,
            transaction_id=key,
            offset_msg_id=offset_message_id(self._store_host, physical_offset),
        )
        message = Message(
            topic=queue[0],
            queue_id=queue[1],
            body=bytes(half.body),
            properties=text,
            flag=half.flag,
            queue_offset=queue_offset,
            physical_offset=physical_offset,
            sys_flag=half.sys_flag,
            born_timestamp=half.born_timestamp,
            born_host=decode_host(half.born_host),
            store_timestamp=half.store_timestamp,
            store_host=decode_host(half.store_host),
            reconsume_times=half.reconsume_times,
            prepared_transaction_offset=half.prepared_offset,
        )
        try:
            peer.push(RequestCode.CHECK_TRANSACTION_STATE, encode_ext(header), encode_record(message))
        except WireError as error:
            log.warning("producer group %s cannot be asked about a transaction: %s", group, error)

    def _producer(self, group: str) -> Peer | None:
        peers = [peer for peer, _ in self._clients.producers(group) if not peer.congested]
        if not peers:
            return None
        self._turn += 1
        return peers[self._turn % len(peers)]
