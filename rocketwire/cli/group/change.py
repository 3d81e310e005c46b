"""`rocketwire group create|delete`: create, change and delete groups."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import click

from rocketwire.cli.attempts import ServerAttempts
from rocketwire.cli.brokers import BrokerChoice, broker_options, check_group, master
from rocketwire.cli.deletion import DeletedThing, confirm, delete_everywhere, yes_option
from rocketwire.cli.deletion import print_deleted as write
from rocketwire.cli.errors import CommandError
from rocketwire.cli.online import ClusterAccess, online_command
from rocketwire.cli.parameter_types import GROUP

if TYPE_CHECKING:
    from rocketwire.remoting.cluster import BlockingCluster


_FIELDS: Final = {
    "retry_queues": "retry_queue_nums",
    "max_retries": "retry_max_times",
    "enable": "consume_enable",
    "broadcast": "consume_broadcast_enable",
    "from_min": "consume_from_min_enable",
    "orderly": "consume_message_orderly",
}
"""The configuration's name of each option."""


@online_command("create", "Example: rocketwire group create orders --max-retries 5 --no-broadcast")
@click.argument("group", metavar="GROUP", type=GROUP)
@click.option("--retry-queues", metavar="N", type=click.IntRange(min=0), help="Queues of the retry topic. [new: 1]")
@click.option(
    "--max-retries",
    metavar="N",
    type=click.IntRange(min=-1),
    help="So often a failed message is tried again before it goes to the dead-letter topic. [new: 16]",
)
@click.option("--enable/--disable", "enable", default=None, help="Whether members may consume. [new: they may]")
@click.option("--broadcast/--no-broadcast", default=None, help="Whether they may by broadcasting. [new: they may]")
@click.option(
    "--from-min/--not-from-min", default=None, help="Whether they may begin at a queue's first message. [new: they may]"
)
@click.option(
    "--orderly/--not-orderly",
    default=None,
    help="Whether 5.x clients receive a queue's messages one after the other. [new: no]",
)
@broker_options
def create_command(
    endpoint: ClusterAccess,
    /,
    *,
    group: str,
    choice: BrokerChoice,
    as_json: bool,
    **settings: Any,  # noqa: ANN401 - of _FIELDS
) -> int:
    """Create GROUP on the brokers of a cluster. Where it exists, what the options name is changed."""
    from rocketwire.cli.group.show import configuration, write_configurations
    from rocketwire.remoting.admin.groups import group_configs, put_group
    from rocketwire.wire.bodies.group import SubscriptionGroupConfig
    from rocketwire.wire.names import group_name_error

    if problem := group_name_error(group):
        raise CommandError(f"group {group}: {problem}")
    changes = {_FIELDS[name]: value for name, value in settings.items() if value is not None}
    attempts = ServerAttempts()
    rows: list[dict[str, Any]] = []
    with endpoint.connected() as cluster:
        for broker in choice.of_one_cluster(cluster.info()):
            with attempts.at(f"broker {broker.name}"):
                connection = master(cluster, broker)
                former = group_configs(connection).get(group)
                config = replace(former or SubscriptionGroupConfig(group_name=group), **changes)
                put_group(connection, config)
                rows.append(configuration(broker, config))
    write_configurations(group, rows, as_json=as_json)
    return attempts.code()


@online_command("delete", "Example: rocketwire group delete orders --yes")
@click.argument("group", metavar="GROUP", type=GROUP)
@click.option(
    "--keep-offsets",
    is_flag=True,
    help="Keep its offsets. A broker of 5.5 that creates groups automatically then makes it again, "
    "with default settings.",
)
@broker_options
@yes_option
def delete_command(
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
    from rocketwire.remoting.admin.brokers import brokers_of, masters_only
    from rocketwire.remoting.errors import NoSuchTopic

    try:
        datas = cluster.route(topic).broker_datas
    except NoSuchTopic:
        return []
    every = masters_only(brokers_of(datas, cluster.info()))
    chosen = choice.only(every)
    return delete_everywhere(cluster, topic, chosen, attempts, route=len(chosen) == len(every))
