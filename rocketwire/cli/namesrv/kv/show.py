"""`rocketwire namesrv kv show`: one value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rocketwire.cli.json_option import json_option
from rocketwire.cli.online import OnlineCommand, online

if TYPE_CHECKING:
    from rocketwire.cli.online import Endpoint


@click.command("show", cls=OnlineCommand, epilog="Example: rocketwire namesrv kv show ORDER_TOPIC_CONFIG Orders")
@click.argument("namespace")
@click.argument("key")
@json_option
@online
def command(endpoint: Endpoint, *, namespace: str, key: str, as_json: bool) -> int:
    """Print the value of KEY in NAMESPACE."""
    from rocketwire.cli.mistake import Unsuccessful
    from rocketwire.cli.output import json_line
    from rocketwire.remoting.admin.name_servers import value, values
    from rocketwire.server.config.nearest import suggestion

    with endpoint.connected() as cluster:
        found = value(cluster, namespace, key)
        if found is None:
            near = suggestion(key, values(cluster, namespace))
            raise Unsuccessful(f"namespace {namespace}: it has no key {key}{near}")
    if as_json:
        json_line({"namespace": namespace, "key": key, "value": found})
    else:
        print(found)
    return 0
