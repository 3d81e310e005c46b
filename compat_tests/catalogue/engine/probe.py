"""Finds out what an endpoint is and what its settings allow, by requests of administrators.

An endpoint may refuse them, as cloud services do: then it is not known, and scenarios that only need what most
endpoints allow run nevertheless.
"""

from __future__ import annotations

import contextlib
import re
import socket
import time
from collections.abc import Mapping
from typing import Final

from rocketwire.compat.endpoint import Access, Facts, Product
from rocketwire.compat.scenario import Need
from rocketwire.remoting.admin import brokers
from rocketwire.remoting.connection import BlockingConnection
from rocketwire.remoting.errors import NotReached, Refused, RemotingError
from rocketwire.remoting.requests import name_server_addresses
from rocketwire.server.config.java_properties import JavaPropertiesInvalid, parse_java_properties
from rocketwire.wire.addresses import Address, parse_address

_UNITS: Final = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_OURS: Final = "faultInjectionEnable"
"""A key that only rocketwire has."""
_MODE: Final = "defaultMessageRequestMode"
"""A key that only brokers have whose messages can be popped."""
_QUICK: Final = 10_000  # ms that a scenario waits for a delay level
_SHORT: Final = (1_000, 2_000, *(15 * [1_000]), 3_000)
_SHORT_TRANSACTION: Final = 2_000
_YOUNG: Final = 15.0  # seconds
_CHECKS: Final = "3"
_GRPC_PORT: Final = 8081
_REACHED_WITHIN: Final = 3.0  # seconds
_LONG_PULL: Final = 1_024
_DEFAULT_PULL: Final = 32


def grpc_address(name_servers: str, named: str | None) -> str:
    """Where clients of 5.x connect: the address that is named, else port 8081 of the name server's host.

    Empty where none is named and nothing listens there.

    Raises:
        AddressInvalid: it is not HOST:PORT.
        NotReached: nothing listens at the address that is named.
        NameServersInvalid: a name server's address is invalid.
    """
    if named is not None:
        address = parse_address(named)
    else:
        address = Address(host=name_server_addresses(name_servers)[0].host, port=_GRPC_PORT)
    try:
        socket.create_connection((address.host, address.port), _REACHED_WITHIN).close()
    except OSError as error:
        if named is None:
            return ""
        raise NotReached(f"gRPC endpoint {address}", str(error)) from error
    return str(address)


def probe(access: Access) -> Facts:
    """What is known of an endpoint.

    Raises:
        RemotingError: no name server is reached, or it knows no broker.
    """
    with access.cluster() as cluster:
        info = cluster.info()
        every = cluster.all_brokers()
        first = next(iter(every.values()))
        runtime: Mapping[str, str] = {}
        configuration: Mapping[str, str] = {}
        refused = ""
        try:
            configuration = parse_java_properties(brokers.configuration(first))
        except (RemotingError, JavaPropertiesInvalid) as error:
            refused = f"its settings are not known: {error}"
        with contextlib.suppress(RemotingError):
            runtime = _runtime(first)
    version = re.sub(r"^V?(\d+)_(\d+)_(\d+).*$", r"\1.\2.\3", runtime.get("brokerVersionDesc", ""))
    ours = _OURS in configuration
    delays = _delays(configuration.get("messageDelayLevel", ""))
    offers = _offers(configuration, delays, version=version, ours=ours)
    offers[Need.ONE_BROKER] = len(every) == 1
    return Facts(
        access=access,
        product=Product.ROCKETWIRE if ours else Product.APACHE,
        version=_own_version(version) if ours else version,
        cluster=next(iter(sorted(info.cluster_addr_table)), ""),
        offers=offers,
        delays=delays,
        settings=(
            f"{len(every)} broker{'s' * (len(every) != 1)}",
            *([f"gRPC: {access.grpc}"] * bool(access.grpc)),
            *_lines(offers, configuration),
            *([refused] * bool(refused)),
        ),
        configuration=configuration,
    )


def _runtime(broker: BlockingConnection) -> dict[str, str]:
    """A broker's runtime information. Apache's 4.x has none in its first seconds, and throws."""
    end = time.monotonic() + _YOUNG
    while True:
        try:
            return brokers.runtime_info(broker)
        except Refused as error:
            if "NoSuchElementException" not in (error.remark or "") or time.monotonic() > end:
                raise
            time.sleep(0.2)


def _own_version(protocol: str) -> str:
    return f"(as {protocol})" if protocol else ""


def _delays(text: str) -> tuple[int, ...]:
    """Ms of each level; empty where the text is not understood."""
    words = [re.fullmatch(r"(\d+)([smhd])", word) for word in text.split()]
    return tuple(int(word[1]) * _UNITS[word[2]] for word in words if word) if all(words) else ()


def _offers(configuration: Mapping[str, str], delays: tuple[int, ...], *, version: str, ours: bool) -> dict[Need, bool]:
    found: dict[Need, bool] = {}
    known = bool(configuration)

    def take(need: Need, key: str) -> None:
        if key in configuration:
            found[need] = configuration[key] == "true"

    take(Need.SQL, "enablePropertyFilter")
    take(Need.AUTO_CREATE_TOPIC, "autoCreateTopicEnable")
    take(Need.RECALL, "recallMessageEnable")
    take(Need.TIMER, "timerWheelEnable")
    if known:
        found.setdefault(Need.TIMER, False)
        found.setdefault(Need.RECALL, False)
        found[Need.POP] = found[Need.TIMER] and _MODE in configuration
    elif version.startswith("4.") and not ours:
        found[Need.TIMER] = found[Need.RECALL] = found[Need.POP] = False
    trace = [
        configuration[key] == "true" for key in ("traceTopicEnable", "autoCreateTopicEnable") if key in configuration
    ]
    if trace:
        found[Need.TRACE] = any(trace)
    # What only an endpoint for tests has is offered only where it is known.
    found[Need.DELAYS_KNOWN] = bool(delays) and delays[0] <= _QUICK
    found[Need.QUICK_RETRY] = len(delays) > 2 and delays[2] <= _QUICK
    found[Need.SHORT_DELAYS] = delays == _SHORT
    times = [int(configuration.get(key, "-1")) for key in ("transactionTimeOut", "transactionCheckInterval")]
    found[Need.SHORT_TRANSACTIONS] = (
        times == [_SHORT_TRANSACTION] * 2 and configuration.get("transactionCheckMax") == _CHECKS
    )
    most = int(configuration.get("maxTransferCountOnMessageInMemory", "0"))
    found[Need.LONG_PULLS] = most >= _LONG_PULL and int(configuration["maxTransferBytesOnMessageInMemory"]) >= 1 << 20
    found[Need.SHORT_PULLS] = most == _DEFAULT_PULL
    aged = configuration.get("accessMessageInMemoryMaxRatio")
    found[Need.AGED_QUEUES] = aged == "0"
    found[Need.YOUNG_QUEUES] = aged is None or aged != "0"
    return found


def _lines(offers: Mapping[Need, bool], configuration: Mapping[str, str]) -> list[str]:
    lines = [f"{need}: {'yes' if offers[need] else 'no'}" for need in Need if need in offers]
    named = ("messageDelayLevel", "transactionTimeOut", "transactionCheckInterval", "aclEnable")
    return lines + [f"{key}={configuration[key]}" for key in named if key in configuration]
