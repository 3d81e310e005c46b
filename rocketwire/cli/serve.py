"""`rocketwire serve`: options and broker.conf become a `ServerConfig`, then the server runs until stopped.

What is said more than once: an option of its own (`--broker`, `--advertise`, `--store`) beats `--set`,
which beats `-c`, which beats the default.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rocketwire.cli.mistake import Mistake

if TYPE_CHECKING:
    from rocketwire.server.addresses import Address
    from rocketwire.server.config import ServerConfig

    # argparse publishes no other name for what add_subparsers returns.
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
    parser.add_argument("-c", dest="file", metavar="FILE", help="a broker.conf to read keys from")
    parser.add_argument(
        "--set",
        dest="settings",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="set one key; repeatable",
    )
    parser.set_defaults(run=_serve)


def configuration(options: argparse.Namespace, warn: Callable[[str], None]) -> ServerConfig:
    """Put the options and what they point at together; `warn` gets a line for each key that changes nothing.

    Raises:
        Mistake: a value, an address or a file that cannot be used.
    """
    from rocketwire.server.addresses import is_wildcard, machine_address
    from rocketwire.server.config import read_settings
    from rocketwire.server.config_keys import ConfigError

    settings = {} if options.file is None else _read_file(Path(options.file))
    for assignment in options.settings:
        key, value = _key_and_value(assignment)
        settings.pop(key, None)  # the later of two spellings counts
        settings[key] = value
    try:
        config, warnings = read_settings(settings)
    except ConfigError as error:
        raise Mistake(str(error)) from error
    if options.namesrv is not None:
        config = replace(config, name_server=_address("--namesrv", options.namesrv))
    if options.broker is not None:
        listened = _address("--broker", options.broker)
        config = replace(config, bind_address=listened.host, listen_port=listened.port)
    if options.advertise is not None:
        told = _address("--advertise", options.advertise)
        config = replace(config, broker_ip1=told.host, advertised_port=told.port)
    if options.store is not None:
        config = replace(config, store_path_root_dir=options.store)
    if is_wildcard(config.advertised_host):
        config = replace(config, broker_ip1=machine_address(ipv6=":" in config.advertised_host))
    for line in warnings:
        warn(line)
    return config


def _key_and_value(assignment: str) -> tuple[str, str]:
    key, equals, value = assignment.partition("=")
    if not equals:
        raise Mistake(f"--set {assignment}: allowed is KEY=VALUE")
    if not key.strip():
        raise Mistake(f"--set {assignment}: the key is missing; allowed is KEY=VALUE")
    return key.strip(), value


def _address(option: str, text: str) -> Address:
    from rocketwire.server.addresses import AddressInvalid, parse_address

    try:
        return parse_address(text)
    except AddressInvalid as error:
        raise Mistake(f"{option} {text}: {error}") from error


def _read_file(path: Path) -> dict[str, str]:
    from rocketwire.server.java_properties import PropertiesInvalid, parse_java_properties

    try:
        content = path.read_bytes()
    except OSError as error:
        raise Mistake(f"-c {path}: {error.strerror}") from error
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = content.decode("iso-8859-1")  # what Java takes every properties file for
    try:
        return parse_java_properties(text)
    except PropertiesInvalid as error:
        raise Mistake(f"-c {path}: {error}") from error


def _serve(options: argparse.Namespace) -> int:
    config = configuration(options, lambda line: print(f"rocketwire: warning: {line}", file=sys.stderr))
    from rocketwire.server.run import run

    return run(config)
