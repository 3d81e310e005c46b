"""Removes what a run has made at an endpoint: its topics and its groups, found by the prefix of their names."""

from __future__ import annotations

import contextlib

from rocketwire.compat.endpoint import Access
from rocketwire.remoting.admin import name_servers
from rocketwire.remoting.admin.groups import delete_group, group_configs
from rocketwire.remoting.admin.topics import delete_topic
from rocketwire.remoting.errors import Refused, RemotingError
from rocketwire.wire.names import DEAD_LETTER_PREFIX, RETRY_PREFIX


def remove(access: Access, prefix: str) -> list[str]:
    """Remove all topics and groups whose names begin with a prefix; a line for each thing that stays, or could not."""
    complaints: list[str] = []
    try:
        with access.cluster() as cluster:
            topics = [topic for topic in cluster.topics() if _own(topic, prefix)]
            every = cluster.all_brokers()
            for name, broker in every.items():
                try:
                    for group in group_configs(broker):
                        if group.startswith(prefix):
                            delete_group(broker, group, offsets=True)
                    for topic in topics:
                        delete_topic(broker, topic)
                except Refused as error:
                    complaints.append(f"broker {name} keeps topics and groups {prefix}*: {error}")
            for address in cluster.name_servers:
                for topic in topics:
                    with contextlib.suppress(Refused):  # the broker has unregistered it already
                        name_servers.delete_route(cluster.name_server(address), topic)
    except RemotingError as error:
        complaints.append(f"topics and groups {prefix}* may remain: {error}")
    return complaints


def _own(topic: str, prefix: str) -> bool:
    return topic.removeprefix(RETRY_PREFIX).removeprefix(DEAD_LETTER_PREFIX).startswith(prefix)
