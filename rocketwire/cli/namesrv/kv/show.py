"""`rocketwire namesrv kv show`: one value."""

from __future__ import annotations

import click

from rocketwire.cli.json_option import json_option
from rocketwire.cli.online import ClusterAccess, OnlineCommand, online


@click.command("show", cls=OnlineCommand, epilog="Example: rocketwire namesrv kv show ORDER_TOPIC_CONFIG Orders")
@click.argument("namespace")
@click.argument("key")
@json_option
@online
def command(endpoint: ClusterAccess, *, namespace: str, key: str, as_json: bool) -> int:
    """Print the value of KEY in NAMESPACE."""
    from rocketwire.cli.errors import CommandFailed
    from rocketwire.cli.output import json_line
    from rocketwire.remoting.admin.name_servers import key_value, key_values
    from rocketwire.server.config.nearest import suggestion

    with endpoint.connected() as cluster:
        found = key_value(cluster, namespace, key)
        if found is None:
            near = suggestion(key, key_values(cluster, namespace))
            raise CommandFailed(f"namespace {namespace}: it has no key {key}{near}")
    if as_json:
        json_line({"namespace": namespace, "key": key, "value": found})
    else:
        print(found)
    return 0
