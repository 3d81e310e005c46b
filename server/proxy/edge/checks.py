"""Checks of half messages that a broker sends to a client whose account may not see the message.

A broker sends checks to one producer of the group after the other, whatever its account, and counts each: strangers in
the group would use up the checks of others. So the proxy passes the check to a client that may see the message.
"""

from __future__ import annotations

from typing import Final
from weakref import WeakKeyDictionary

from rocketwire.server.messages.stored_message import stored_message
from rocketwire.server.net.session import Session
from rocketwire.server.transactions.check_permission import MayCheck
from rocketwire.wire.bodies import decode_body
from rocketwire.wire.bodies.client import HeartbeatData
from rocketwire.wire.errors import RecordInvalid, WireError
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.facts.properties import PRODUCER_GROUP
from rocketwire.wire.header import Header
from rocketwire.wire.properties import property_reader

_group_of: Final = property_reader(PRODUCER_GROUP.encode())
_MOST_GROUPS: Final = 256
"""So many producer groups of one connection are known: clients have a few."""


class BackCheckReceivers:
    """The producers of one broker's clients.

    Args:
        may_receive: Decides whether a producer may receive the messages of a topic.
    """

    def __init__(self, may_receive: MayCheck) -> None:
        self._may_receive = may_receive
        self._groups: WeakKeyDictionary[Session, frozenset[bytes]] = WeakKeyDictionary()

    def note(self, session: Session, header: Header, body: memoryview) -> None:
        """Note the producer groups of a heartbeat that is admitted."""
        if header.code != RequestCode.HEART_BEAT:
            return
        try:
            producers = decode_body(HeartbeatData, body).producer_data_set
        except WireError:  # the broker refuses it
            return
        self._groups[session] = frozenset([each.group_name.encode() for each in producers[:_MOST_GROUPS]])

    def receiver(self, session: Session, record: memoryview) -> Session | None:
        """The client that gets a check sent to `session`: that one, or another of the group; None: none may get it.

        Args:
            session: The client.
            record: The half message.
        """
        try:
            message = stored_message(record)
        except RecordInvalid:
            return None
        if self._may_receive(session, message.topic):
            return session
        group = _group_of(message.properties)
        if group is None:
            return None
        others = (each for each, groups in list(self._groups.items()) if group in groups and not each.closed)
        return next((each for each in others if self._may_receive(each, message.topic)), None)
