"""`rocketwire namesrv kv delete`: remove a value."""

from __future__ import annotations

import click

from rocketwire.cli.json_option import json_option
from rocketwire.cli.online import ClusterAccess, OnlineCommand, online


@click.command("delete", cls=OnlineCommand, epilog="Example: rocketwire namesrv kv delete ORDER_TOPIC_CONFIG Orders")
@click.argument("namespace")
@click.argument("key")
@json_option
@online
def command(endpoint: ClusterAccess, *, namespace: str, key: str, as_json: bool) -> int:
    """Remove KEY from NAMESPACE at every name server of --namesrv. A key that none of them has is an error."""
    from rocketwire.cli.attempts import ServerAttempts
    from rocketwire.cli.errors import CommandFailed
    from rocketwire.cli.output import json_line
    from rocketwire.remoting.admin.name_servers import delete_key_value, key_values
    from rocketwire.server.config.nearest import suggestion

    attempts = ServerAttempts()
    known: set[str] = set()
    with endpoint.connected() as cluster:
        for address in cluster.name_servers:
            with attempts.at(f"name server {address}"):
                server = cluster.name_server(address)
                there = key_values(server, namespace)
                known.update(there)
                if key not in there:
                    continue
                delete_key_value(server, namespace, key)
                if as_json:
                    json_line({"name_server": str(address), "namespace": namespace, "key": key, "deleted": True})
                else:
                    print(f"name server {address}: {namespace} {key} is removed")
    if key not in known and attempts.code() == 0:
        raise CommandFailed(f"namespace {namespace}: it has no key {key}{suggestion(key, known)}")
    return attempts.code(found=key in known)
