"""`rocketwire topic list`: the names of topics."""

from __future__ import annotations

from typing import Final

import click

from rocketwire.cli.errors import INCOMPLETE, CommandError
from rocketwire.cli.json_option import json_option
from rocketwire.cli.online import ClusterAccess, OnlineCommand, online
from rocketwire.cli.output import json_line, warn_empty

_OWN: Final = "own"
_KINDS: Final = (_OWN, "retry", "dead-letter", "system")


@click.command("list", cls=OnlineCommand, epilog="Example: rocketwire topic list --kind own --kind dead-letter")
@click.option(
    "--kind",
    "kinds",
    type=click.Choice(_KINDS),
    multiple=True,
    help="Only applications' own topics, consumer groups' retry or dead-letter topics, or RocketMQ's; repeatable. "
    "[default: own]",
)
@click.option("--all", "everything", is_flag=True, help="Topics of all kinds.")
@click.option("--cluster", "cluster_name", metavar="NAME", help="Only topics of the brokers of this cluster.")
@json_option
@online
def command(
    endpoint: ClusterAccess, *, kinds: tuple[str, ...], everything: bool, cluster_name: str | None, as_json: bool
) -> int:
    """Print the names of applications' topics that the name server knows; with --all those of all topics."""
    if kinds and everything:
        raise CommandError("--kind and --all: only one of them")
    from rocketwire.cli.brokers import check_cluster
    from rocketwire.remoting.admin.name_servers import topics_of_cluster
    from rocketwire.remoting.admin.topics import topic_kind

    with endpoint.connected() as cluster:
        info = cluster.info()
        check_cluster(info, cluster_name)
        topics = cluster.topics() if cluster_name is None else topics_of_cluster(cluster, cluster_name)
    found = [(name, topic_kind(name, info)) for name in topics]
    wanted = _KINDS if everything else kinds or (_OWN,)
    chosen = [(name, kind) for name, kind in found if kind in wanted]
    for name, kind in chosen:
        if as_json:
            json_line({"topic": name, "kind": kind})
        else:
            print(name)
    if not chosen:
        warn_empty("topics" if everything or kinds else "topics of applications (--all: of RocketMQ, too)")
    return 0 if chosen else INCOMPLETE
