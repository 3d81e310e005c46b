"""`rocketwire namesrv config` and `rocketwire namesrv kv show|put|delete|list`: what name servers keep."""

from __future__ import annotations

from functools import partial
from typing import Final

import click

from rocketwire.cli.attempts import ServerAttempts
from rocketwire.cli.errors import CommandFailed
from rocketwire.cli.lazy import lazy_group
from rocketwire.cli.online import ClusterAccess, online_command
from rocketwire.cli.output import json_line
from rocketwire.cli.properties import Values, chosen, parsed_changes, property_options, write
from rocketwire.cli.table import TableColumn, print_rows


@online_command("config", "Example: rocketwire namesrv config --set orderMessageEnable=true")
@property_options
def config_command(endpoint: ClusterAccess, *, keys: tuple[str, ...], changes: tuple[str, ...], as_json: bool) -> int:
    """Print the configuration of every name server of --namesrv, or change keys of it while they run.

    A key that a name server does not have, and a value that it does not take, are errors.
    """
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


@online_command("show", "Example: rocketwire namesrv kv show ORDER_TOPIC_CONFIG Orders")
@click.argument("namespace")
@click.argument("key")
def show_command(endpoint: ClusterAccess, *, namespace: str, key: str, as_json: bool) -> int:
    """Print the value of KEY in NAMESPACE."""
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


@online_command("put", "Example: rocketwire namesrv kv put ORDER_TOPIC_CONFIG Orders 'broker-a:8;broker-b:8'")
@click.argument("namespace")
@click.argument("key")
@click.argument("value")
def put_command(endpoint: ClusterAccess, *, namespace: str, key: str, value: str, as_json: bool) -> int:
    """Set KEY in NAMESPACE to VALUE at every name server of --namesrv."""
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


@online_command("delete", "Example: rocketwire namesrv kv delete ORDER_TOPIC_CONFIG Orders")
@click.argument("namespace")
@click.argument("key")
def delete_command(endpoint: ClusterAccess, *, namespace: str, key: str, as_json: bool) -> int:
    """Remove KEY from NAMESPACE at every name server of --namesrv. A key that none of them has is an error."""
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


@online_command("list", "Example: rocketwire namesrv kv list ORDER_TOPIC_CONFIG")
@click.argument("namespace")
def list_command(endpoint: ClusterAccess, *, namespace: str, as_json: bool) -> int:
    """Print the keys and values of NAMESPACE. Name servers have no list of namespaces."""
    from rocketwire.remoting.admin.name_servers import key_values

    with endpoint.connected() as cluster:
        found = sorted(key_values(cluster, namespace).items())
    if not found:
        raise CommandFailed(f"namespace {namespace}: it has no keys")
    columns = (TableColumn("KEY", of="key", least=16), TableColumn("VALUE", of="value", least=16))
    rows = [{"namespace": namespace, "key": key, "value": value} for key, value in found]
    print_rows(rows, columns, as_json=as_json)
    return 0


kv_command: Final = lazy_group(
    __package__,
    "Show and change the values that name servers keep, such as ORDER_TOPIC_CONFIG, the queues of ordered topics.",
    [
        ("show", "commands:show_command", "one value"),
        ("put", "commands:put_command", "set a value"),
        ("delete", "commands:delete_command", "remove a value"),
        ("list", "commands:list_command", "all values of a namespace"),
    ],
    name="kv",
    aliases={"get": "show"},
)
