"""What the server prints when it is ready: where it listens, how to reach it, whether access is controlled."""

from __future__ import annotations

from dataclasses import replace

from rocketwire.server.configuration import ServerConfig
from rocketwire.server.faults.setup import banner_lines as fault_lines
from rocketwire.server.net.addresses import is_loopback, is_wildcard, machine_address
from rocketwire.wire.addresses import Address


def ready_lines(
    config: ServerConfig,
    name_server: Address | None,
    broker: Address | None,
    http: Address | None,
    grpc: Address | None,
) -> list[str]:
    """The lines that say that all is ready, with the addresses that clients use."""
    if broker is None:
        return [
            f"rocketwire ready: name server {name_server}, values in {config.store.folder}",
            *access_lines(config, name_server),
            "  stop:  Ctrl-C",
        ]
    if name_server is None:
        names = ";".join(map(str, config.name_servers))
        where, used = f"broker {broker} of the name servers {names}", names
    else:
        where, used = f"name server {name_server}, broker {broker}", str(reachable_address(name_server))
    return [
        f"rocketwire ready: {where}, store {config.store.folder}",
        f'  Java:  producer.setNamesrvAddr("{used}");',
        *(
            []
            if grpc is None
            else [f'  5.x:   ClientConfiguration.newBuilder().setEndpoints("{reachable_address(grpc)}")']
        ),
        *([] if http is None else [f"  HTTP:  http://{reachable_address(http)}/metrics"]),
        *access_lines(config, name_server),
        "  stop:  Ctrl-C",
        *_about_the_clock(config),
        *fault_lines(config.faults),
    ]


def access_lines(config: ServerConfig, name_server: Address | None) -> list[str]:
    """Who is let in: a line of the banner where more than this machine could come."""
    if config.acl.acl_enable:
        return [f"  ACL:   accounts of {config.acl.path(config.store.folder)}"]
    hosts = [config.broker.bind_address, *(() if name_server is None else (name_server.host,))]
    if all(map(is_loopback, hosts)):
        return []
    return ["  open:  no access control; whoever reaches these addresses may do everything (--acl FILE)"]


def _about_the_clock(config: ServerConfig) -> list[str]:
    """That time here may be another one than elsewhere."""
    if not config.clock.movable_clock:
        return []
    how = "over HTTP" if config.http is not None else "over HTTP, which needs --http"
    return [f"  CLOCK: may be moved {how} (movableClock, docs/testing-applications.md)"]


def reachable_address(listened: Address) -> Address:
    """The address that clients use where the server listens: of a wildcard, one of this machine."""
    host = listened.host
    return replace(listened, host=machine_address(ipv6=":" in host)) if is_wildcard(host) else listened
