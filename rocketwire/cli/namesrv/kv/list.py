"""`rocketwire namesrv kv list`: all values of a namespace."""

from __future__ import annotations

import click

from rocketwire.cli.json_option import json_option
from rocketwire.cli.online import ClusterAccess, OnlineCommand, online


@click.command("list", cls=OnlineCommand, epilog="Example: rocketwire namesrv kv list ORDER_TOPIC_CONFIG")
@click.argument("namespace")
@json_option
@online
def command(endpoint: ClusterAccess, *, namespace: str, as_json: bool) -> int:
    """Print the keys and values of NAMESPACE. Name servers have no list of namespaces."""
    from rocketwire.cli.errors import CommandFailed
    from rocketwire.cli.output import json_line
    from rocketwire.cli.table import TableColumn, print_table
    from rocketwire.remoting.admin.name_servers import key_values

    with endpoint.connected() as cluster:
        found = sorted(key_values(cluster, namespace).items())
    if not found:
        raise CommandFailed(f"namespace {namespace}: it has no keys")
    if as_json:
        for key, value in found:
            json_line({"namespace": namespace, "key": key, "value": value})
    else:
        print_table((TableColumn("KEY", least=16), TableColumn("VALUE", least=16)), found)
    return 0
