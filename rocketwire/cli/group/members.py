"""The members of a consumer group and their subscriptions.

The broker keeps one subscription per group and topic, so the members are asked one by one, through the broker.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rocketwire.remoting.connection import BlockingConnection
from rocketwire.server.clients.consistency import SubscriptionDifference, Subscriptions, differences
from rocketwire.wire.bodies import decode_body
from rocketwire.wire.bodies.online import ClientConnection as Client
from rocketwire.wire.bodies.online import ConsumerConnection, ConsumerRunningInfo
from rocketwire.wire.facts.codes import RequestCode, ResponseCode, version_name
from rocketwire.wire.headers.online import GetConsumerConnectionListRequestHeader, GetConsumerRunningInfoRequestHeader


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberQueues:
    """A client of a group: `address` and `version` as the broker reports them.

    `subscriptions` is None when the client does not report them, and `trouble` is the reason.
    """

    client_id: str
    address: str
    language: str
    version: str
    subscriptions: Subscriptions | None
    trouble: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMembership:
    """A group's members by client id, and the differences between the subscriptions that they report."""

    name: str
    members: tuple[MemberQueues, ...]
    differences: tuple[SubscriptionDifference, ...]

    @property
    def agrees(self) -> bool:
        """Whether no difference matters."""
        return not any(each.matters for each in self.differences)


def find_group(name: str, brokers: Iterable[BlockingConnection]) -> GroupMembership | None:
    """A group as its members on these brokers report it; None when it has no member.

    Raises:
        NotReached, Refused: a broker does not answer, or answers with an error.
    """
    members: dict[str, MemberQueues] = {}
    for broker in brokers:
        for client in _clients(broker, name):
            known = members.get(client.client_id)
            if known is None or known.subscriptions is None:
                members[client.client_id] = _member(broker, name, client)
    if not members:
        return None
    ordered = tuple(members[client_id] for client_id in sorted(members))
    told = [(each.client_id, each.subscriptions) for each in ordered if each.subscriptions is not None]
    return GroupMembership(name=name, members=ordered, differences=differences(name, told))


def _clients(broker: BlockingConnection, group: str) -> tuple[Client, ...]:
    fields = GetConsumerConnectionListRequestHeader(consumer_group=group)
    fine = (ResponseCode.SUCCESS, ResponseCode.CONSUMER_NOT_ONLINE)
    answer = broker.ask(RequestCode.GET_CONSUMER_CONNECTION_LIST, fields, fine=fine)
    if answer.code != ResponseCode.SUCCESS:
        return ()
    return decode_body(ConsumerConnection, answer.body).connection_set


def _member(broker: BlockingConnection, group: str, client: Client) -> MemberQueues:
    fields = GetConsumerRunningInfoRequestHeader(consumer_group=group, client_id=client.client_id, jstack_enable=False)
    answer = broker.answer(broker.send(RequestCode.GET_CONSUMER_RUNNING_INFO, fields))
    subscriptions, trouble = None, None
    if answer.code == ResponseCode.SUCCESS:
        info = decode_body(ConsumerRunningInfo, answer.body, lenient_limit=None)
        subscriptions = {each.topic: each for each in info.subscription_set}
    else:
        trouble = f"code {answer.code}: {answer.remark or 'no remark'}"
    return MemberQueues(
        client_id=client.client_id,
        address=client.client_addr,
        language=client.language or "",
        version=version_name(client.version),
        subscriptions=subscriptions,
        trouble=trouble,
    )
