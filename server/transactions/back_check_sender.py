"""Sending back-checks (39) for a half message: to the producers of its group, one after the other.

The body is the half message as it was, with its real topic and queue, under the offsets of its newest copy. As in
Apache's, WAIT is false in it and the size of the record counts again.
"""

from __future__ import annotations

from collections.abc import Mapping

from rocketwire.server.clients.groups import ClientGroups
from rocketwire.server.core.request import Peer
from rocketwire.server.messages.stored_message import StoredMessage, stored_text
from rocketwire.server.transactions.check_permission import MayCheck, allow_every_producer
from rocketwire.server.transactions.half import read_half_properties
from rocketwire.server.transactions.round_report import RoundReport
from rocketwire.wire.errors import WireError
from rocketwire.wire.facts import properties as property_names
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.headers import encode_ext
from rocketwire.wire.headers.transaction import CheckTransactionStateRequestHeader
from rocketwire.wire.hosts import decode_host
from rocketwire.wire.message import MessageRecord, encode_record
from rocketwire.wire.message_id import offset_message_id


class BackCheckSender:
    """Sends the back-checks of one broker; `may_receive` decides which producers may know messages of a topic."""

    def __init__(
        self, clients: ClientGroups, *, store_host: bytes, may_receive: MayCheck = allow_every_producer
    ) -> None:
        self._clients = clients
        self._may_receive = may_receive
        self._store_host = store_host
        self._turn = 0

    def must_wait(self, group: str) -> bool:
        """Whether a group has connected producers, and all of them have more to read than they do for now."""
        producers = self._clients.producers(group)
        return bool(producers) and all(peer.congested for peer, _ in producers)

    def send(
        self, half: StoredMessage, copy: tuple[int, int], properties: Mapping[str, str], report: RoundReport
    ) -> None:
        """Send a back-check for a half message, unless there is no producer or the message is for no queue.

        Args:
            half: The message.
            copy: Physical and queue offset of its newest copy.
            properties: That copy's.
            report: Counts it.
        """
        group = properties.get(property_names.PRODUCER_GROUP, "")
        if not self._clients.producers(group):
            report.without_producer[group] += 1
            return
        text = stored_text({**properties, property_names.WAIT: "false"})
        queue = read_half_properties(text).queue
        peer = None if queue is None else self._producer(group, queue[0])
        if peer is None or queue is None:
            report.without_producer[group] += 1
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
        message = MessageRecord(
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
        except WireError:
            report.too_long[group] += 1
        else:
            report.sent += 1

    def _producer(self, group: str, topic: str) -> Peer | None:
        peers = [
            peer for peer, _ in self._clients.producers(group) if not peer.congested and self._may_receive(peer, topic)
        ]
        if not peers:
            return None
        self._turn += 1
        return peers[self._turn % len(peers)]
