"""Apache's own broker as the reference, with the settings of the endpoint."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from rocketwire.compat.brokers.endpoint import Apache, ApacheProxy, running
from rocketwire.compat.endpoint import Access, Facts
from rocketwire.compat.engine.probe import grpc_address, probe
from rocketwire.compat.environment.artifacts import SERVER_VERSIONS

PREFIX: Final = "apache-"
_TAKEN: Final = (
    "messageDelayLevel",
    "transactionTimeOut",
    "transactionCheckInterval",
    "transactionCheckMax",
    "enablePropertyFilter",
    "autoCreateTopicEnable",
    "autoCreateSubscriptionGroup",
    "maxMessageSize",
    "maxTransferCountOnMessageInMemory",
    "maxTransferBytesOnMessageInMemory",
    "accessMessageInMemoryMaxRatio",
    "recallMessageEnable",
    "traceTopicEnable",
)
"""The keys that the reference gets from the endpoint, where the endpoint reports them."""


def names() -> list[str]:
    """What `--against` takes besides an address: `apache-4.9.7`."""
    return [f"{PREFIX}{version}" for version in sorted(SERVER_VERSIONS)]


@contextlib.contextmanager
def reference(wanted: str, access: Access, endpoint: Facts, *, grpc: bool) -> Iterator[Facts]:
    """The facts of a reference: an Apache that is started here and stopped at the end, or an endpoint at an address.

    Args:
        wanted: One of `names`, or HOST:PORT.
        access: The account and the encryption for an endpoint at an address.
        endpoint: Whose settings an Apache gets.
        grpc: Whether there are clients of 5.x; Apache's 5.x is started with its proxy for them.

    Raises:
        ArtifactError: Apache cannot be fetched, or there is no Java.
        EndpointError: it does not start.
        RemotingError: no endpoint answers at the address.
    """
    if wanted not in names():
        found = replace(access, namesrv=wanted, grpc=grpc_address(wanted, None) if grpc else "")
        yield probe(found)
        return
    version, settings = wanted.removeprefix(PREFIX), settings_for(endpoint.configuration)
    with tempfile.TemporaryDirectory(prefix="rocketwire-apache-") as folder:
        if grpc and version.startswith("5."):
            with running(ApacheProxy(Path(folder), settings=settings)) as proxy:
                yield probe(Access(namesrv=proxy.namesrv, grpc=proxy.grpc))
        else:
            with running(Apache(Path(folder), version=version, settings=settings)) as started:
                yield probe(Access(namesrv=started.namesrv))


def settings_for(configuration: Mapping[str, str]) -> dict[str, str]:
    """The keys that a reference gets of an endpoint's."""
    return {key: configuration[key] for key in _TAKEN if configuration.get(key)}
