"""The program `rocketwire`: its commands and where they are."""

from __future__ import annotations

from typing import Final

import click

from rocketwire.cli.lazy import LazyGroup

MODULES: Final = {
    "serve": ("rocketwire.cli.serve", "run a name server and a broker"),
    "proxy": ("rocketwire.cli.proxy", "stand in front of a cluster, this program's or Apache's"),
    "health": ("rocketwire.cli.health", "check whether a server is ready"),
    "topic": ("rocketwire.cli.topic", "show and change topics"),
    "group": ("rocketwire.cli.group", "show and change consumer groups"),
    "offset": ("rocketwire.cli.offset", "show and set consumer groups' offsets"),
    "cluster": ("rocketwire.cli.cluster", "show the brokers of a cluster"),
    "broker": ("rocketwire.cli.broker", "show and configure brokers"),
    "namesrv": ("rocketwire.cli.namesrv", "show and configure name servers"),
    "message": ("rocketwire.cli.message", "send, follow, find and copy messages"),
    "dlq": ("rocketwire.cli.dlq", "dead letters: list them, and send them again"),
    "top": ("rocketwire.cli.top", "watch the traffic of topics and groups"),
    "trace": ("rocketwire.cli.trace", "a message's way from its producer to its consumers"),
    "timer": ("rocketwire.cli.timer", "messages that wait for a set time"),
    "record": ("rocketwire.cli.record", "record what passes between clients and an endpoint, in a file"),
    "replay": ("rocketwire.cli.replay", "send recorded requests to an endpoint, and compare its answers"),
    "show": ("rocketwire.cli.show", "print a recording as a table or a tree"),
    "compat": ("rocketwire.cli.compat", "which official clients work with an endpoint"),
    "store": ("rocketwire.cli.store", "read a store directory, check it, repair a damaged one"),
    "spark": ("rocketwire.cli.spark", "what is done with Spark: stores to Parquet files"),
    "completion": (
        "rocketwire.cli.shells:completion_command",
        "let bash, zsh or fish complete commands, options and names",
    ),
}

_HELP: Final = """\
A RocketMQ name server and broker, and commands for endpoints and stores of this or Apache's broker.

rocketwire COMMAND --help describes a command, with examples.
"""

_EPILOG: Final = """\
\b
Examples:
  rocketwire serve                      # a server on 127.0.0.1, store in ./data
  rocketwire proxy --upstream 10.0.0.5:9876  # one address in front of a cluster
  rocketwire topic list                 # the topics of a running endpoint
  rocketwire store info data            # what is in a store directory

Commands for a running endpoint take its address from --namesrv, or the variable ROCKETWIRE_NAMESRV, or a profile, or
use 127.0.0.1:9876. A profile is a section of ~/.config/rocketwire/profiles.toml, chosen by --profile or
ROCKETWIRE_PROFILE; the section [default] counts where none is chosen. An option overrides its variable, which overrides
the profile:

\b
  [default]                             # all keys may be omitted
  namesrv = "10.0.0.5:9876"             # several: "a:9876;b:9876"
  access-key = "admin"
  secret-key = "secret"
  tls = true                            # or "any": accept any certificate
  tls-ca = "/etc/ssl/rocketmq.pem"
  tls-cert = "/home/me/own.pem"

\b
Exit codes of all commands:
  0    done
  1    nothing found, or not everything could be done; stderr says what
  2    wrong use: a command, option, setting, account or file; or no store
  3    an endpoint is unreachable, does not answer, or has no broker
  130  stopped by Ctrl-C
  141  the reader of the output closed it, as head does
"""


def _print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:  # noqa: FBT001 - click's signature
    if not wanted or context.resilient_parsing:
        return
    from rocketwire import __version__, native

    click.echo(f"rocketwire {__version__} (kernel: {native.name()})")
    context.exit()


_VERSION: Final = click.Option(
    ["--version"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version, and whether the C kernel is used.",
)

program: Final = LazyGroup(
    name="rocketwire",
    help=_HELP,
    epilog=_EPILOG,
    modules=MODULES,
    params=[_VERSION],
    context_settings={"help_option_names": ["-h", "--help"]},
)
