"""`rocketwire serve`: options and broker.conf become a `ServerConfig`, then the server runs until stopped.

Precedence: an option (`--broker`, `--advertise`, `--store`), then its variable, then `--set`, then the variables of
keys (`rocketwire.cli.environment`), then `-c`, then the default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from rocketwire.cli.environment import settings_of, with_variables
from rocketwire.cli.errors import CommandError
from rocketwire.cli.parameter_types import FILE, FOLDER, RULE, SETTING
from rocketwire.cli.several_brokers import MOST_BROKERS, several_brokers
from rocketwire.cli.starting import log_options, started

if TYPE_CHECKING:
    from rocketwire.server.configuration import ServerConfig
    from rocketwire.server.faults.rule import Rule
    from rocketwire.server.supervising import ServerSettings
    from rocketwire.wire.addresses import Address

_NONE: Final = "none"
_EPILOG: Final = """\
It creates the store's folder where there is none, and prints one line with its addresses once it is ready. SIGTERM and
Ctrl-C stop it cleanly. A port in use, a store that another process has open, or a bad setting is one line on stderr and
exit code 2.

\b
Examples:
  rocketwire serve                                  # for this machine only
  rocketwire serve --namesrv 0.0.0.0:9876 --broker 0.0.0.0:10911  # for others
  rocketwire serve -c broker.conf --store /data     # with settings of Apache
  rocketwire serve --set topicQuotas='*=100/100'    # throttled as in a cloud
  rocketwire serve --acl plain_acl.yml              # with accounts
  rocketwire serve --http 127.0.0.1:5557            # with metrics and health
  rocketwire serve --namesrv 127.0.0.1:0 --broker 127.0.0.1:0 --json-ready
  rocketwire serve --brokers 4                      # for a machine with cores
  rocketwire serve --broker none                    # a name server alone
  rocketwire serve --namesrv none --register 'a:9876;b:9876'  # a broker alone

Port 0 takes a free port. --json-ready prints, in place of the lines for people,
{"namesrv":"HOST:PORT","broker":…,"http":… or null,"grpc":… or null,"store":…,"pid":…,"version":…}.

Environment variables, for containers: ROCKETWIRE_SERVE_HTTP for --http, and so for each option; rules of
ROCKETWIRE_SERVE_FAULT are separated by ";". ROCKETWIRE_SET_topicQuotas for a key. An empty one counts as not set.

An option beats its variable, both beat --set, which beats the key's variable, which beats -c. Keys are those of
Apache's broker.conf and some of this server, such as autoCreateTopicEnable, defaultTopicQueueNums, flushDiskType,
fileReservedTime, maxMessageSize, messageDelayLevel, topicQuotas, tlsServerMode; the completion of bash, zsh and fish
lists all (rocketwire completion --help).

RULE of --fault is ACTION[,KEY=VALUE]...; the first rule that a request matches counts:

\b
  answer:CODE[:REMARK]                    answer with this response code
  delay:MS[-MS][:request|answer]          handle, or answer, so many ms later
  drop, disconnect, duplicate[:request|answer]
  corrupt[:header|body|length]            damage the answer
  KEY is code (of the request, number or name; several with |), topic, group,
  listener (broker or namesrv), rate (0 to 1: a share), count (the first ones)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """The options of `serve` as they are typed, `-c` as `file`; None where one is not given."""

    namesrv: str | None = None
    broker: str | None = None
    register: str | None = None
    grpc: str | None = None
    advertise: str | None = None
    store: str | None = None
    http: str | None
    file: str | None
    settings: tuple[str, ...]
    faults: tuple[str, ...]
    json_ready: bool
    port_file: str | None
    end_with: int | None
    log_format: str
    log_level: str
    acl: str | None
    brokers: int = 1
    member: str | None = None


@with_variables
@click.command("serve", epilog=_EPILOG)
@click.option(
    "--namesrv",
    metavar="HOST:PORT",
    help="Where the name server listens; none: there is none here, see --register. [default: 127.0.0.1:9876]",
)
@click.option(
    "--broker",
    metavar="HOST:PORT",
    help="Where the broker listens; none: there is none here, but a name server alone. [default: 127.0.0.1:10911]",
)
@click.option(
    "--register",
    metavar="HOST:PORT;...",
    help="Name servers of other processes, this program's or Apache's, where the broker registers too.",
)
@click.option(
    "--grpc",
    metavar="HOST:PORT",
    help="Where clients of 5.x are served, which speak gRPC; none: on the broker's port only. [default: 127.0.0.1:8081"
    " if that is free]",
)
@click.option(
    "--advertise",
    metavar="[NETWORK=]HOST:PORT,...",
    help="The broker's address that clients get, for containers and NAT; clients of a NETWORK (10.0.0.0/8) may get"
    " another one, and neighbours, if listed, this machine's own. [default: that of --broker]",
)
@click.option("--store", metavar="DIR", type=FOLDER, help="The store's folder. [default: ./data]")
@click.option(
    "--http",
    metavar="HOST:PORT",
    help="Serve metrics and health there over HTTP: /metrics, /healthz, /readyz. [default: nowhere]",
)
@click.option(
    "-c", "--config", "file", metavar="FILE", type=FILE, help="A broker.conf, Apache's too, to read keys from."
)
@click.option(
    "--set", "settings", metavar="KEY=VALUE", type=SETTING, multiple=True, help="Set one key of it; repeatable."
)
@click.option(
    "--fault",
    "faults",
    metavar="RULE",
    type=RULE,
    multiple=True,
    help="Misbehave on purpose, to test clients, as answer:215,code=SEND_MESSAGE_V2,rate=0.1; repeatable.",
)
@click.option(
    "--json-ready",
    is_flag=True,
    help="Print its addresses in one line of JSON when it is ready: for programs that start it.",
)
@click.option(
    "--port-file",
    metavar="FILE",
    type=FILE,
    help="Write that line to this file, too, once it is ready; removed at a clean stop.",
)
@click.option(
    "--end-with",
    metavar="PID",
    type=click.IntRange(min=1),
    help="Stop when this process has ended, however it ends: the one that starts it.",
)
@log_options
@click.option(
    "--acl",
    metavar="FILE",
    type=FILE,
    help="Let in only the accounts of this file, Apache's plain_acl.yml (keys aclEnable, aclFile). [default: all]",
)
@click.option(
    "--brokers",
    metavar="N",
    type=click.IntRange(1, MOST_BROKERS),
    default=1,
    help="Run so many brokers, each in a process with a store in a folder of DIR, under the name server of this one."
    " [default: 1]",
)
@click.option("--member", metavar="NAME", hidden=True, help="One of several brokers: --brokers starts it so.")
def command(**options: Any) -> int:  # noqa: ANN401 - those of Options
    """Run a name server and a broker in this process, or several brokers in processes."""
    given = ServeOptions(**options)
    if given.brokers > 1:
        return started(command, given.log_format, given.log_level, partial(_several, given), _run_several)
    return started(
        command, given.log_format, given.log_level, partial(configuration, given), _run, log_name=given.member
    )


def _several(options: ServeOptions, warn: Callable[[str], None], environment: Mapping[str, str]) -> ServerSettings:
    return several_brokers(options, configuration(options, warn, environment), environment)


def configuration(
    options: ServeOptions, warn: Callable[[str], None], environment: Mapping[str, str] | None = None
) -> ServerConfig:
    """Build the configuration from the options, the environment and files.

    `warn` gets a line for each key without effect. An unknown key is a mistake in `--set` and in the environment; in a
    file it is a warning, as the file may be of another version of Apache.

    Raises:
        Mistake: a value, an address or a file that cannot be used.
    """
    from rocketwire.server.config.keys import ConfigError
    from rocketwire.server.config.nearest import suggestion
    from rocketwire.server.configuration import known_keys, read_settings
    from rocketwire.server.net.addresses import is_wildcard, machine_address

    settings = {} if options.file is None else _read_file(options.file)
    assigned = list(settings_of(environment or {}, known_keys()).items())
    for assignment in options.settings:
        key, value = _key_and_value(assignment)
        if key not in known_keys():
            raise CommandError(f"--set {key}: unknown key{suggestion(key, known_keys())}")
        assigned.append((key, value))
    for key, value in assigned:
        settings.pop(key, None)  # the later of two spellings counts
        settings[key] = value
    try:
        config, warnings = read_settings(settings)
    except ConfigError as error:
        raise CommandError(str(error)) from error
    config = _with_accounts(_with_places(config, options), options)
    host = config.broker.advertised_host
    if is_wildcard(host):
        own = machine_address(ipv6=":" in host)
        config = replace(config, broker=replace(config.broker, broker_ip1=own))
    if options.member is not None:
        broker = replace(config.broker, broker_name=options.member)
        config = replace(config, broker=broker, is_member=True)
    else:  # the process that starts the brokers warns
        for line in warnings:
            warn(line)
    if options.faults:
        config = replace(config, faults=replace(config.faults, rules=_faults(options.faults)))
    if options.port_file is not None and not options.port_file.strip():
        raise CommandError("--port-file: the file's name is empty")
    return replace(
        config,
        log_format=options.log_format,
        json_ready=options.json_ready,
        port_file=options.port_file,
        end_with=options.end_with,
    )


def _with_places(config: ServerConfig, options: ServeOptions) -> ServerConfig:
    """The configuration with the addresses and the store's folder that are options."""
    config = _with_roles(config, options)
    if options.grpc is not None:
        config = replace(config, grpc=replace(config.grpc, grpc_listen=_grpc(options.grpc)))
    if options.advertise is not None:
        config = _with_advertised(config, options.advertise)
    if options.http is not None:
        config = replace(config, http=address_of("--http", options.http))
    if options.store is not None:
        if not options.store.strip():
            raise CommandError("--store: the folder's name is empty")
        config = replace(config, store=replace(config.store, store_path_root_dir=options.store))
    return config


def _with_roles(config: ServerConfig, options: ServeOptions) -> ServerConfig:
    """The configuration with what runs in the process, where it listens, and where the broker registers."""
    if options.register is not None:
        config = replace(config, name_servers=name_servers("--register", options.register))
    if options.namesrv == _NONE:
        if not config.name_servers:
            raise CommandError("--namesrv none: clients find no broker without a name server; --register names some")
        config = replace(config, name_server=None)
    elif options.namesrv is not None:
        config = replace(config, name_server=address_of("--namesrv", options.namesrv))
    if options.broker == _NONE:
        if config.name_server is None or config.name_servers:
            raise CommandError("--broker none: a name server alone goes with neither --namesrv none nor --register")
        if options.http is not None or options.grpc is not None or options.faults:
            raise CommandError("--broker none: --http, --grpc and --fault are a broker's")
        return replace(config, has_broker=False)
    if options.broker is None:
        return config
    listened = address_of("--broker", options.broker)
    return replace(config, broker=replace(config.broker, bind_address=listened.host, listen_port=listened.port))


def name_servers(option: str, text: str) -> tuple[Address, ...]:
    """The name servers that an option names.

    Raises:
        Mistake: it names none, or not by their addresses.
    """
    found = tuple(address_of(option, each) for each in text.split(";") if each.strip())
    if not found:
        raise CommandError(f"{option}: expected HOST:PORT, several of them with ; between")
    return found


def _grpc(text: str) -> str:
    from rocketwire.server.grpc.keys import AUTO, NOWHERE

    return text if text in {AUTO, NOWHERE} else str(address_of("--grpc", text))


def _with_advertised(config: ServerConfig, text: str) -> ServerConfig:
    from rocketwire.server.name_server.advertised import AdvertisedInvalid, parse_advertised

    try:
        parsed = parse_advertised(text)
    except AdvertisedInvalid as error:
        raise CommandError(f"--advertise {text}: {error}") from error
    config = replace(config, advertised_networks=parsed.networks)
    if parsed.others is None:
        return config
    return replace(
        config, broker=replace(config.broker, broker_ip1=parsed.others.host), advertised_port=parsed.others.port
    )


def _with_accounts(config: ServerConfig, options: ServeOptions) -> ServerConfig:
    """The configuration with the accounts' file of `--acl`, or from Apache's default path."""
    if options.acl is not None:
        if not Path(options.acl).is_file():
            raise CommandError(f"--acl {options.acl}: no such file")
        return replace(config, acl=replace(config.acl, acl_enable=True, acl_file=options.acl))
    if config.acl.acl_enable and not config.acl.acl_file and options.file is not None:
        beside = str(Path(options.file).parent / "plain_acl.yml")
        return replace(config, acl=replace(config.acl, acl_file=beside))
    return config


def _key_and_value(assignment: str) -> tuple[str, str]:
    key, equals, value = assignment.partition("=")
    if not equals:
        raise CommandError(f"--set {assignment}: expected KEY=VALUE")
    if not key.strip():
        raise CommandError(f"--set {assignment}: the key is missing; expected KEY=VALUE")
    return key.strip(), value


def address_of(option: str, text: str) -> Address:
    """The address that an option names.

    Raises:
        Mistake: it is none.
    """
    from rocketwire.wire.addresses import AddressInvalid, parse_address

    try:
        return parse_address(text)
    except AddressInvalid as error:
        raise CommandError(f"{option} {text}: {error}") from error


def _faults(texts: Sequence[str]) -> tuple[Rule, ...]:
    from rocketwire.server.faults.grammar import RuleInvalid, parse_rule
    from rocketwire.server.faults.rule import MOST_RULES

    if len(texts) > MOST_RULES:
        raise CommandError(f"--fault: at most {MOST_RULES} rules are allowed")
    rules = []
    for text in texts:
        try:
            rules.append(parse_rule(text))
        except RuleInvalid as error:
            raise CommandError(f"--fault {text}: {error}") from error
    return tuple(rules)


def _read_file(path: str) -> dict[str, str]:
    from rocketwire.cli.environment import read_settings_file
    from rocketwire.server.config.java_properties import JavaPropertiesInvalid, parse_java_properties

    content = read_settings_file("-c", path)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = content.decode("iso-8859-1")  # Java's encoding of properties files
    try:
        return parse_java_properties(text)
    except JavaPropertiesInvalid as error:
        raise CommandError(f"-c {path}: {error}") from error


def _run(config: ServerConfig) -> int:
    from rocketwire.server.run import run

    return run(config)


def _run_several(settings: ServerSettings) -> int:
    from rocketwire.server.run import run_brokers

    return run_brokers(settings)
