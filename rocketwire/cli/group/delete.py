"""`rocketwire group delete`: delete a group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rocketwire.cli.brokers import BrokerChoice, broker_options
from rocketwire.cli.confirmation import yes_option
from rocketwire.cli.json_option import json_option
from rocketwire.cli.online import ClusterAccess, OnlineCommand, online
from rocketwire.cli.parameter_types import GROUP

if TYPE_CHECKING:
    from rocketwire.cli.attempts import ServerAttempts
    from rocketwire.cli.deletion import DeletedThing
    from rocketwire.remoting.cluster import BlockingCluster


@click.command("delete", cls=OnlineCommand, epilog="Example: rocketwire group delete orders --yes")
@click.argument("group", metavar="GROUP", type=GROUP)
@click.option(
    "--keep-offsets",
    is_flag=True,
    help="Keep its offsets. A broker of 5.5 that creates groups by itself then makes it again, with default settings.",
)
@broker_options
@yes_option
@json_option
@online
def command(
    endpoint: ClusterAccess,
    *,
    group: str,
    keep_offsets: bool,
    choice: BrokerChoice,
    yes: bool,
    as_json: bool,
) -> int:
    """Delete GROUP on the brokers: its configuration, its offsets, and its retry and dead-letter topics.

    Members that are on line may create it again.
    """
    from rocketwire.cli.attempts import ServerAttempts
    from rocketwire.cli.brokers import master
    from rocketwire.cli.confirmation import confirm
    from rocketwire.cli.deletion import DeletedThing, write
    from rocketwire.cli.found import check_group
    from rocketwire.remoting.admin.groups import delete_group
    from rocketwire.wire.names import dead_letter_topic, retry_topic

    attempts = ServerAttempts()
    deleted: list[DeletedThing] = []
    with endpoint.connected() as cluster:
        brokers = choice.of(cluster.info())
        brokers = check_group(cluster, group, brokers, attempts)
        names = ", ".join(broker.name for broker in brokers)
        what = "" if keep_offsets else ", its offsets"
        confirm(f"Delete group {group}{what}, its retry and its dead-letter topic on {names}?", yes=yes)
        for broker in brokers:
            with attempts.at(f"broker {broker.name}"):
                delete_group(master(cluster, broker), group, offsets=not keep_offsets)
                deleted.append(DeletedThing(what="group", name=group, at="broker", server=broker.name))
        for topic in (retry_topic(group), dead_letter_topic(group)):
            deleted += _topic_deleted(cluster, topic, choice, attempts)
    write(deleted, json=as_json)
    return attempts.code()


def _topic_deleted(
    cluster: BlockingCluster, topic: str, choice: BrokerChoice, attempts: ServerAttempts
) -> list[DeletedThing]:
    """Delete a topic of the group, if there is one."""
    from rocketwire.cli.deletion import delete_everywhere
    from rocketwire.remoting.admin.brokers import brokers_of, masters_only
    from rocketwire.remoting.errors import NoSuchTopic

    try:
        datas = cluster.route(topic).broker_datas
    except NoSuchTopic:
        return []
    every = masters_only(brokers_of(datas, cluster.info()))
    chosen = choice.only(every)
    return delete_everywhere(cluster, topic, chosen, attempts, route=len(chosen) == len(every))
