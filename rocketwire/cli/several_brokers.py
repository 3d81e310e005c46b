"""`rocketwire serve --brokers N`: how each broker's process is started."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rocketwire.cli.errors import CommandError

if TYPE_CHECKING:
    from rocketwire.cli.serve import ServeOptions
    from rocketwire.server.configuration import ServerConfig
    from rocketwire.server.supervising import ServerSettings
    from rocketwire.server.supervisor.broker_process import BrokerCommand

log = logging.getLogger(__name__)

MOST_BROKERS: Final = 26
"""One for each letter."""
PORT_STEP: Final = 10
"""Between the ports of two brokers, as in Apache's guides: 10911, 10921. Two below each is its VIP port."""
_FIRST_SUFFIX: Final = "-a"
_OPTION_VARIABLES: Final = "ROCKETWIRE_SERVE_"


def several_brokers(options: ServeOptions, config: ServerConfig, environment: Mapping[str, str]) -> ServerSettings:
    """The settings of a server with several brokers.

    Raises:
        CommandError: an option or a key goes with one broker only, or the folder is the store of one.
    """
    from rocketwire.server.supervising import ServerSettings

    _check(options, config)
    base = replace(config, name_servers=())
    return ServerSettings(
        base=base,
        commands=tuple(_commands(options, config)),
        # The brokers get the options as arguments, of which some differ.
        environment={name: value for name, value in environment.items() if not name.startswith(_OPTION_VARIABLES)},
    )


def _check(options: ServeOptions, config: ServerConfig) -> None:
    from rocketwire.wire.addresses import MAX_PORT

    if config.name_server is None or not config.has_broker:
        raise CommandError("--brokers: needs the name server and the brokers of this server; none is not possible")
    if config.advertised_networks:
        raise CommandError("--brokers: --advertise takes HOST[:PORT] here, and no addresses for networks")
    if config.clock.movable_clock:
        raise CommandError("--brokers: movableClock goes with one broker only")
    first, last = config.broker.listen_port, config.broker.listen_port + PORT_STEP * (options.brokers - 1)
    if last > MAX_PORT:
        raise CommandError(f"--brokers {options.brokers}: the last broker's port would be {last}")
    if not first and config.advertised_port is not None:
        raise CommandError("--brokers: --advertise HOST:PORT needs a port in --broker, not 0")
    folder = config.store.folder
    name = _name(config, 0)
    if (folder / "commitlog").exists():
        raise CommandError(f"--brokers: {folder} is the store of one broker; move what is in it to {folder / name}")
    served = {_name(config, number) for number in range(options.brokers)}
    for store in sorted(folder.glob("*/commitlog")):
        if store.parent.name not in served:
            log.warning(
                "the store %(folder)s is not served: there are %(brokers)d brokers",
                {"folder": store.parent, "brokers": options.brokers},
            )


def _name(config: ServerConfig, number: int) -> str:
    return f"{config.broker.broker_name.removesuffix(_FIRST_SUFFIX)}-{chr(ord('a') + number)}"


def _commands(options: ServeOptions, config: ServerConfig) -> Iterator[BrokerCommand]:
    from rocketwire.server.supervisor.broker_process import BrokerCommand
    from rocketwire.wire.addresses import Address

    same = tuple(_same_for_all(options, config))
    broker, store = config.broker, config.store
    for number in range(options.brokers):
        name, step = _name(config, number), PORT_STEP * number
        arguments = ["--member", name, "--namesrv", "none", "--json-ready", "--store", str(store.folder / name)]
        if store.store_path_commit_log:
            arguments += ["--set", f"storePathCommitLog={Path(store.store_path_commit_log) / name}"]
        if options.advertise is not None:
            port = "" if config.advertised_port is None else f":{config.advertised_port + step}"
            arguments += ["--advertise", f"{_bracketed(broker.broker_ip1)}{port}"]
        if number or not (config.grpc.automatic or config.grpc.address):
            arguments += ["--grpc", "none"]
        port_number = broker.listen_port + step if broker.listen_port else 0
        yield BrokerCommand(
            name=name,
            listen=Address(host=broker.bind_address, port=port_number),
            grpc=config.grpc.address if not number else None,
            arguments=(*same, *arguments),
            name_servers=config.name_servers,
        )


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _same_for_all(options: ServeOptions, config: ServerConfig) -> Iterator[str]:
    if options.file is not None:
        yield from ("-c", options.file)
    for setting in options.settings:
        yield from ("--set", setting)
    for fault in options.faults:
        yield from ("--fault", fault)
    if config.acl.acl_enable:
        yield from ("--acl", str(config.acl.path(config.store.folder)))
    if config.http is not None:
        yield from ("--http", "127.0.0.1:0")
    yield from ("--log-format", options.log_format, "--log-level", options.log_level)
