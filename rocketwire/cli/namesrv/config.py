"""`rocketwire namesrv config`: a name server's configuration."""

from __future__ import annotations

from functools import partial

import click

from rocketwire.cli.json_option import json_option
from rocketwire.cli.online import ClusterAccess, OnlineCommand, online
from rocketwire.cli.properties import property_options


@click.command("config", cls=OnlineCommand, epilog="Example: rocketwire namesrv config --set orderMessageEnable=true")
@property_options
@json_option
@online
def command(endpoint: ClusterAccess, *, keys: tuple[str, ...], changes: tuple[str, ...], as_json: bool) -> int:
    """Print the configuration of every name server of --namesrv, or change keys of it while they run.

    A key that a name server does not have, and a value that it does not take, are errors.
    """
    from rocketwire.cli.attempts import ServerAttempts
    from rocketwire.cli.properties import Values, chosen, parsed_changes, write
    from rocketwire.remoting.admin.name_servers import change_configuration, configuration

    wanted = parsed_changes(changes)
    attempts = ServerAttempts()
    found: list[tuple[dict[str, str], Values]] = []
    with endpoint.connected() as cluster:
        for address in cluster.name_servers:
            with attempts.at(f"name server {address}"):
                server = cluster.name_server(address)
                read, change = partial(configuration, server), partial(change_configuration, server)
                found.append(({"name_server": str(address)}, chosen(read, change, keys=keys, changes=wanted)))
    write("name_server", found, as_json=as_json)
    return attempts.code(found=bool(found), what="settings")
