"""`rocketwire proxy`: stands in front of a cluster until stopped."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click

from rocketwire.cli.environment import settings_of, with_variables
from rocketwire.cli.errors import CommandError
from rocketwire.cli.parameter_types import FILE, RULE, SETTING
from rocketwire.cli.serve import ServeOptions, address_of, configuration, name_servers
from rocketwire.cli.starting import log_options, started

if TYPE_CHECKING:
    from rocketwire.server.proxy.settings import ProxySettings

_OF_SERVE: Final = (
    *("http", "file", "settings", "faults", "acl", "json_ready", "port_file", "end_with", "log_format", "log_level"),
)
"""The options that mean the same as those of `serve`."""
_EPILOG: Final = """\
Clients take the proxy for a name server: they are given it as such, and get from it addresses of the proxy for all
brokers. It keeps nothing: any number of proxies may stand in front of the same cluster, and may be restarted at will.

Each broker has a port of the proxy: the first --broker-ports, the others each 3 higher, in the order of their names.
Clients of the VIP channel use the port 2 below. --listen HOST:0 takes free ports.

\b
Examples:
  rocketwire proxy --upstream 10.0.0.5:9876             # this machine only
  rocketwire proxy --upstream 'a:9876;b:9876' --listen 0.0.0.0:9876
  rocketwire proxy --upstream 10.0.0.5:9876 --read-only # look only
  rocketwire proxy --upstream 10.0.0.5:9876 --fault answer:215,rate=0.1
  rocketwire proxy --upstream a:9876 --shadow b:9876 --shadow-sample 5

\b
--json-ready prints {"namesrv":"HOST:PORT","brokers":{"NAME:ID":…},
"grpc":… or null,"http":… or null,"pid":…,"version":…}.

Variables of the options are ROCKETWIRE_PROXY_UPSTREAM and so on. Of the keys of --set those count that are about
limits, quotas, TLS, accounts, faults and the servers behind (upstream…).
"""


@with_variables
@click.command("proxy", epilog=_EPILOG)
@click.option(
    "--upstream",
    metavar="HOST:PORT;...",
    help="The name servers of the cluster, this program's or Apache's. [required]",
)
@click.option(
    "--listen", metavar="HOST:PORT", help="Where clients find the proxy, as a name server. [default: 127.0.0.1:9876]"
)
@click.option(
    "--broker-ports",
    metavar="PORT",
    type=click.IntRange(0, 65535),
    help="The port of the first broker; 0: free ones. [default: 3 above that of --listen]",
)
@click.option(
    "--advertise", metavar="HOST", help="The host of the addresses that clients get. [default: that of --listen]"
)
@click.option("--grpc", metavar="HOST:PORT", help="Where clients of 5.x are served. [default: nowhere]")
@click.option("--read-only", is_flag=True, help="Refuse what changes something: sends, offsets, topics.")
@click.option(
    "--shadow",
    metavar="HOST:PORT;...",
    help="The name servers of a second cluster, which gets a copy of some sends; answers are compared. [default: none]",
)
@click.option(
    "--shadow-sample",
    metavar="PERCENT",
    type=click.FloatRange(0, 100),
    help="How many of a hundred sends it gets. [default: 1]",
)
@click.option("--http", metavar="HOST:PORT", help="Serve metrics and health there over HTTP. [default: nowhere]")
@click.option(
    "-c",
    "--config",
    "file",
    metavar="FILE",
    type=FILE,
    help="A file in the form of broker.conf with keys; changes apply.",
)
@click.option("--set", "settings", metavar="KEY=VALUE", type=SETTING, multiple=True, help="Set one key; repeatable.")
@click.option(
    "--fault",
    "faults",
    metavar="RULE",
    type=RULE,
    multiple=True,
    help="Misbehave on purpose, as with serve --fault; repeatable.",
)
@click.option(
    "--acl",
    metavar="FILE",
    type=FILE,
    help="Let in only the accounts of this file, Apache's plain_acl.yml; brokers see the same signatures.",
)
@click.option("--json-ready", is_flag=True, help="Print one line of JSON with its addresses when it is ready.")
@click.option("--port-file", metavar="FILE", type=FILE, help="Write that line to this file, too.")
@click.option("--end-with", metavar="PID", type=click.IntRange(min=1), help="Stop when this process has ended.")
@log_options
def command(**options: Any) -> int:  # noqa: ANN401 - those above
    """Stand in front of a cluster, as one address of it for all clients."""
    return started(command, options["log_format"], options["log_level"], partial(proxy_settings, options), _run)


def _run(settings: ProxySettings) -> int:
    from rocketwire.server.run import run_proxy

    return run_proxy(settings)


def proxy_settings(
    options: Mapping[str, Any], warn: Callable[[str], None], environment: Mapping[str, str]
) -> ProxySettings:
    """The settings that options and the environment make; `warn` gets a line for each key without effect.

    Raises:
        Mistake: a value, an address or a file that cannot be used.
    """
    from rocketwire.server.configuration import known_keys
    from rocketwire.server.net.addresses import is_wildcard, machine_address
    from rocketwire.server.proxy.settings import LISTEN, PORT_STEP, SHADOW_SAMPLE, ProxySettings

    if options["upstream"] is None:
        raise CommandError("--upstream is missing: the name servers of the cluster to stand in front of")
    base = configuration(
        ServeOptions(**{name: options[name] for name in _OF_SERVE}),
        warn,
        environment,
    )
    listen = LISTEN if options["listen"] is None else address_of("--listen", options["listen"])
    first = options["broker_ports"]
    if first is None:
        first = listen.port + PORT_STEP if listen.port else 0
    host = options["advertise"] or listen.host
    if is_wildcard(host):
        host = machine_address(ipv6=":" in host)
    base = replace(base, name_server=listen, broker=replace(base.broker, bind_address=listen.host))
    return ProxySettings(
        base=base,
        upstream=name_servers("--upstream", options["upstream"]),
        listen=listen,
        first_port=first,
        advertised_host=host,
        file=options["file"],
        fixed_keys=frozenset(each.partition("=")[0].strip() for each in options["settings"])
        | settings_of(environment, known_keys()).keys(),
        read_only=options["read_only"],
        grpc=None if options["grpc"] is None else address_of("--grpc", options["grpc"]),
        shadow=() if options["shadow"] is None else name_servers("--shadow", options["shadow"]),
        shadow_sample=SHADOW_SAMPLE if options["shadow_sample"] is None else options["shadow_sample"],
    )
