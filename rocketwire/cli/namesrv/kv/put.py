"""`rocketwire namesrv kv put`: set a value."""

from __future__ import annotations

from typing import Final

import click

from rocketwire.cli.json_option import json_option
from rocketwire.cli.online import ClusterAccess, OnlineCommand, online

_EPILOG: Final = "Example: rocketwire namesrv kv put ORDER_TOPIC_CONFIG Orders 'broker-a:8;broker-b:8'"


@click.command(
    "put",
    cls=OnlineCommand,
    epilog="Example: rocketwire namesrv kv put ORDER_TOPIC_CONFIG Orders 'broker-a:8;broker-b:8'",
)
@click.argument("namespace")
@click.argument("key")
@click.argument("value")
@json_option
@online
def command(endpoint: ClusterAccess, *, namespace: str, key: str, value: str, as_json: bool) -> int:
    """Set KEY in NAMESPACE to VALUE at every name server of --namesrv."""
    from rocketwire.cli.attempts import ServerAttempts
    from rocketwire.cli.output import json_line
    from rocketwire.remoting.admin.name_servers import put_key_value

    attempts = ServerAttempts()
    with endpoint.connected() as cluster:
        for address in cluster.name_servers:
            with attempts.at(f"name server {address}"):
                put_key_value(cluster.name_server(address), namespace, key, value)
                if as_json:
                    json_line({"name_server": str(address), "namespace": namespace, "key": key, "value": value})
                else:
                    print(f"name server {address}: {namespace} {key} = {value}")
    return attempts.code()
