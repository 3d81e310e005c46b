"""Everything that a topic has stored, read without a group."""

from __future__ import annotations

from operator import attrgetter
from typing import Final

from rocketwire.remoting.core.client import ClientCore
from rocketwire.remoting.core.incoming import decode_messages
from rocketwire.remoting.core.offsets import OffsetRequests
from rocketwire.remoting.core.session import ClientRequest
from rocketwire.remoting.core.steps import Operation
from rocketwire.remoting.messages import Queue, ReceivedMessage
from rocketwire.remoting.pulls import PULLED, pull_header
from rocketwire.wire.facts.codes import RequestCode, ResponseCode

in_store_order: Final = attrgetter("physical_offset")
_AT_ONCE: Final = 32


def stored(client: ClientCore, topic: str) -> Operation[list[ReceivedMessage]]:
    """The messages that a topic has now, in the order in which they were stored.

    Raises:
        NoSuchTopic: there is no such topic.
        NotReached, Refused: it cannot be read.
    """
    client.expire_route(topic)
    found: list[ReceivedMessage] = []
    route = yield from client.route(topic)
    for each in route.queue_datas:
        for number in range(max(each.read_queue_nums, each.write_queue_nums)):
            found += yield from _of_queue(client, Queue(topic, each.broker_name, number))
    return sorted(found, key=in_store_order)


def _of_queue(client: ClientCore, queue: Queue) -> Operation[list[ReceivedMessage]]:
    offsets = OffsetRequests(client, client.settings.group)
    at = yield from offsets.first(queue)
    end = yield from offsets.end(queue)
    found: list[ReceivedMessage] = []
    while at < end:
        fields = pull_header(queue.topic, queue.queue_id, at, most=_AT_ONCE, group=client.settings.group)
        peer = yield from client.broker_of(queue)
        answer = yield from client.ask(peer, ClientRequest(RequestCode.PULL_MESSAGE, fields), PULLED)
        if answer.code == ResponseCode.SUCCESS:
            found += decode_messages(answer.body, queue)
        at = max(at + 1, int(answer.ext["nextBeginOffset"]))
    return found
