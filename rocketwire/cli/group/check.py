"""`rocketwire group check`: compare the subscriptions of a consumer group's members.

The broker keeps one subscription per group and topic, so each member is queried, through the broker.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from rocketwire.cli.errors import INCOMPLETE, NoSuchGroup
from rocketwire.cli.group.show import subscription
from rocketwire.cli.online import ClusterAccess, online_command
from rocketwire.cli.output import json_line, warn
from rocketwire.cli.parameter_types import GROUP
from rocketwire.cli.table import TableColumn, print_table
from rocketwire.remoting.admin.groups import consumer_connections
from rocketwire.remoting.connection import BlockingConnection
from rocketwire.remoting.core.session import ClientRequest
from rocketwire.server.clients.consistency import SubscriptionDifference, Subscriptions, differences
from rocketwire.wire.bodies import decode_body
from rocketwire.wire.bodies.online import ClientConnection as Client
from rocketwire.wire.bodies.online import ConsumerRunningInfo
from rocketwire.wire.facts.codes import RequestCode, ResponseCode, version_name
from rocketwire.wire.headers.online import GetConsumerRunningInfoRequestHeader

if TYPE_CHECKING:
    from rocketwire.remoting.cluster import BlockingCluster


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
        connected = consumer_connections(broker, name)
        for client in () if connected is None else connected.connection_set:
            known = members.get(client.client_id)
            if known is None or known.subscriptions is None:
                members[client.client_id] = _member(broker, name, client)
    if not members:
        return None
    ordered = tuple(members[client_id] for client_id in sorted(members))
    known_subscriptions = [(each.client_id, each.subscriptions) for each in ordered if each.subscriptions is not None]
    return GroupMembership(name=name, members=ordered, differences=differences(name, known_subscriptions))


def _member(broker: BlockingConnection, group: str, client: Client) -> MemberQueues:
    fields = GetConsumerRunningInfoRequestHeader(consumer_group=group, client_id=client.client_id, jstack_enable=False)
    answer = broker.answer(broker.send(ClientRequest(RequestCode.GET_CONSUMER_RUNNING_INFO, fields)))
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


_EPILOG: Final = """\
Members that subscribe to different topics, tags or expressions lose messages: a broker keeps one subscription of a
group, the newest, while each member filters by its own. The same tags in another order are shown and are no
disagreement. Exit code: 0 when the members of every group agree; 1 when those of one do not, or one does not answer
(stderr says which).

\b
Examples:
  rocketwire group check                     # all groups that have members
  rocketwire group check orders --namesrv 10.0.0.5:9876
  rocketwire group check --json
"""


@online_command("check", _EPILOG)
@click.argument("group", metavar="[GROUP]", type=GROUP, required=False)
def command(endpoint: ClusterAccess, group: str | None, *, as_json: bool) -> int:
    """Query the subscriptions of each member of a consumer group, and print where they disagree."""
    with endpoint.connected() as cluster:
        groups = list(_found(cluster, group))
    for each in groups:
        for member in each.members:
            if member.trouble is not None:
                warn(f"group {each.name}: {member.client_id} does not tell its subscriptions: {member.trouble}")
    if as_json:
        for each in groups:
            json_line(_json(each))
    else:
        _write(groups)
    silent = any(member.trouble for each in groups for member in each.members)
    return INCOMPLETE if silent or not all(each.agrees for each in groups) else 0


def _found(cluster: BlockingCluster, name: str | None) -> Iterator[GroupMembership]:

    brokers = cluster.all_brokers().values()
    for each in cluster.groups() if name is None else [name]:
        group = find_group(each, brokers)
        if group is not None:
            yield group
        elif name is not None:
            raise NoSuchGroup(name, f"group {name}: no consumer of that group is on line")


def _write(groups: list[GroupMembership]) -> None:
    if not groups:
        print("no consumer group is on line")
        return
    columns = (
        TableColumn("GROUP", least=12),
        TableColumn("TOPIC", least=12),
        TableColumn("SUBSCRIPTION", least=12),
        TableColumn("CLIENT", least=16),
        TableColumn("ADDRESS", least=15),
        TableColumn("AGREES"),
    )
    print_table(columns, (row for group in groups for row in _rows(group)))
    for group in groups:
        print(_verdict(group))


def _rows(group: GroupMembership) -> Iterator[tuple[str, ...]]:
    from rocketwire.server.clients.consistency import subscription_text

    differences = {each.topic: each for each in group.differences}
    topics = {topic for member in group.members for topic in member.subscriptions or ()}
    for topic in sorted(topics) or ["-"]:
        for member in group.members:
            if member.subscriptions is None:
                wanted = "?"
            else:
                subscription = member.subscriptions.get(topic)
                wanted = "-" if subscription is None else subscription_text(subscription)
            yield group.name, topic, wanted, member.client_id, member.address, _agreement(differences.get(topic))


def _agreement(difference: SubscriptionDifference | None) -> str:
    if difference is None:
        return "yes"
    return "no" if difference.matters else "yes, written differently"


def _verdict(group: GroupMembership) -> str:
    count = len(group.members)
    members = f"group {group.name}: {count} member" + ("" if count == 1 else "s")
    if not group.agrees:
        return f"{members}, disagree on " + ", ".join(each.topic for each in group.differences if each.matters)
    return f"{members}, all that told their subscriptions agree" if _silent(group.members) else f"{members}, agree"


def _silent(members: Iterable[MemberQueues]) -> bool:
    return any(member.subscriptions is None for member in members)


def _json(group: GroupMembership) -> dict[str, Any]:
    return {
        "group": group.name,
        "agrees": group.agrees,
        "members": [
            {
                "client_id": member.client_id,
                "address": member.address,
                "language": member.language,
                "version": member.version,
                "subscriptions": None
                if member.subscriptions is None
                else [subscription(member.subscriptions[topic]) for topic in sorted(member.subscriptions)],
            }
            for member in group.members
        ],
        "differences": [
            {
                "topic": difference.topic,
                "matters": difference.matters,
                "sides": [
                    {
                        "subscription": None if side.subscription is None else subscription(side.subscription),
                        "client_ids": side.client_ids,
                    }
                    for side in difference.variants
                ],
            }
            for difference in group.differences
        ],
    }
