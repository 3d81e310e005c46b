"""`rocketwire serve`: options and broker.conf become a `ServerConfig`, then the server runs until stopped.

Precedence: an option of its own (`--broker`, `--advertise`, `--store`) overrides `--set`, which overrides `-c`, which
overrides the default.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rocketwire.cli.mistake import Mistake

if TYPE_CHECKING:
    from rocketwire.server.configuration import ServerConfig
    from rocketwire.server.operations.faults.rule import Rule
    from rocketwire.wire.addresses import Address

    # argparse has no public name for the type that add_subparsers returns.
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001

_EPILOG = """\
Keys for -c and --set are those of Apache's broker.conf; docs/configuration.md lists them. Options beat --set,
--set beats -c. SIGTERM and Ctrl-C stop the server cleanly."""


def add_parser(commands: Commands) -> None:
    """Add `serve` to the commands."""
    parser = commands.add_parser(
        "serve",
        help="run a name server and a broker",
        description="Run a name server and a broker in this process.",
        epilog=_EPILOG,
    )
    parser.add_argument("--namesrv", metavar="HOST:PORT", help="where the name server listens (default 127.0.0.1:9876)")
    parser.add_argument("--broker", metavar="HOST:PORT", help="where the broker listens (default 127.0.0.1:10911)")
    parser.add_argument(
        "--advertise",
        metavar="HOST:PORT",
        help="the broker's address as clients are told it (default: that of --broker)",
    )
    parser.add_argument("--store", metavar="DIR", help="the store's folder (default ./data)")
    parser.add_argument(
        "--http",
        metavar="HOST:PORT",
        help="tell metrics and health there over HTTP: /metrics, /healthz, /readyz (default: nowhere)",
    )
    parser.add_argument("-c", dest="file", metavar="FILE", help="a broker.conf to read keys from")
    parser.add_argument(
        "--set",
        dest="settings",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="set one key; repeatable",
    )
    parser.add_argument(
        "--fault",
        dest="faults",
        metavar="RULE",
        action="append",
        default=[],
        help="misbehave on purpose (docs/faults.md), as answer:215,code=SEND_MESSAGE_V2,rate=0.1; repeatable",
    )
    parser.add_argument(
        "--log-format",
        choices=("console", "json"),
        default="console",
        help="lines for people, or a JSON object a line (default console)",
    )
    parser.add_argument(
        "--log-level",
        choices=("debug", "info", "warning", "error"),
        default="info",
        help="what is logged, and what is worse (default info)",
    )
    parser.add_argument(
        "--acl",
        metavar="FILE",
        help="let in only the accounts of this file, Apache's plain_acl.yml (aclEnable, aclFile)",
    )
    parser.set_defaults(run=_serve)


def configuration(options: argparse.Namespace, warn: Callable[[str], None]) -> ServerConfig:
    """Build the configuration from the options and their files; `warn` gets a line for each key without effect.

    An unknown key is a mistake in `--set`. In a file it is a warning: the file may be of another version of Apache.

    Raises:
        Mistake: a value, an address or a file that cannot be used.
    """
    from rocketwire.server.config.keys import ConfigError
    from rocketwire.server.config.nearest import suggestion
    from rocketwire.server.configuration import known_keys, read_settings
    from rocketwire.server.net.addresses import is_wildcard, machine_address

    settings = {} if options.file is None else _read_file(options.file)
    for assignment in options.settings:
        key, value = _key_and_value(assignment)
        if key not in known_keys():
            raise Mistake(f"--set {key}: unknown key{suggestion(key, known_keys())}")
        settings.pop(key, None)  # the later of two spellings counts
        settings[key] = value
    try:
        config, warnings = read_settings(settings)
    except ConfigError as error:
        raise Mistake(str(error)) from error
    config = _with_accounts(_with_places(config, options), options)
    host = config.broker.advertised_host
    if is_wildcard(host):
        own = machine_address(ipv6=":" in host)
        config = replace(config, broker=replace(config.broker, broker_ip1=own))
    for line in warnings:
        warn(line)
    if options.faults:
        config = replace(config, faults=replace(config.faults, rules=_faults(options.faults)))
    return config


def _with_places(config: ServerConfig, options: argparse.Namespace) -> ServerConfig:
    """The configuration with the addresses and the store's folder that are options."""
    if options.namesrv is not None:
        config = replace(config, name_server=_address("--namesrv", options.namesrv))
    if options.broker is not None:
        listened = _address("--broker", options.broker)
        config = replace(config, broker=replace(config.broker, bind_address=listened.host, listen_port=listened.port))
    if options.advertise is not None:
        told = _address("--advertise", options.advertise)
        config = replace(config, broker=replace(config.broker, broker_ip1=told.host), advertised_port=told.port)
    if options.http is not None:
        config = replace(config, http=_address("--http", options.http))
    if options.store is not None:
        if not options.store.strip():
            raise Mistake("--store: the folder's name is empty")
        config = replace(config, store=replace(config.store, store_path_root_dir=options.store))
    return config


def _with_accounts(config: ServerConfig, options: argparse.Namespace) -> ServerConfig:
    """The configuration with the accounts' file of `--acl`, or from Apache's default path."""
    if options.acl is not None:
        if not Path(options.acl).is_file():
            raise Mistake(f"--acl {options.acl}: no such file")
        return replace(config, acl=replace(config.acl, acl_enable=True, acl_file=options.acl))
    if config.acl.acl_enable and not config.acl.acl_file and options.file is not None:
        beside = str(Path(options.file).parent / "plain_acl.yml")
        return replace(config, acl=replace(config.acl, acl_file=beside))
    return config


def _key_and_value(assignment: str) -> tuple[str, str]:
    key, equals, value = assignment.partition("=")
    if not equals:
        raise Mistake(f"--set {assignment}: allowed is KEY=VALUE")
    if not key.strip():
        raise Mistake(f"--set {assignment}: the key is missing; allowed is KEY=VALUE")
    return key.strip(), value


def _address(option: str, text: str) -> Address:
    from rocketwire.wire.addresses import AddressInvalid, parse_address

    try:
        return parse_address(text)
    except AddressInvalid as error:
        raise Mistake(f"{option} {text}: {error}") from error


def _faults(texts: Sequence[str]) -> tuple[Rule, ...]:
    from rocketwire.server.operations.faults.grammar import RuleInvalid, parse_rule
    from rocketwire.server.operations.faults.rule import MOST_RULES

    if len(texts) > MOST_RULES:
        raise Mistake(f"--fault: allowed are {MOST_RULES} rules")
    rules = []
    for text in texts:
        try:
            rules.append(parse_rule(text))
        except RuleInvalid as error:
            raise Mistake(f"--fault {text}: {error}") from error
    return tuple(rules)


def _read_file(path: str) -> dict[str, str]:
    from rocketwire.cli.settings_file import read_settings_file
    from rocketwire.server.config.java_properties import PropertiesInvalid, parse_java_properties

    content = read_settings_file("-c", path)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = content.decode("iso-8859-1")  # Java's encoding of properties files
    try:
        return parse_java_properties(text)
    except PropertiesInvalid as error:
        raise Mistake(f"-c {path}: {error}") from error


def _serve(options: argparse.Namespace) -> int:
    from rocketwire.server.core.logs import complain, start_logging

    start_logging(options.log_format, options.log_level)
    try:
        config = configuration(
            options,
            lambda line: complain(options.log_format, line, event="setting without effect", level=logging.WARNING),
        )
    except Mistake as mistake:
        complain(options.log_format, str(mistake), event="wrong use")
        return mistake.exit_code
    from rocketwire.server.run import run

    return run(replace(config, log_format=options.log_format))
