"""Apache's own broker as the reference, with the settings of the endpoint."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from rocketwire.compat.brokers.endpoint import Apache, running
from rocketwire.compat.endpoint import Access, Facts
from rocketwire.compat.engine.probe import probe
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
"""The keys that the reference gets from the endpoint, where this tells them."""


def names() -> list[str]:
    """What `--against` takes besides an address: `apache-4.9.7`."""
    return [f"{PREFIX}{version}" for version in sorted(SERVER_VERSIONS)]


@contextlib.contextmanager
def reference(wanted: str, access: Access, endpoint: Facts) -> Iterator[Facts]:
    """The facts of a reference: an Apache that is started here and stopped at the end, or an endpoint at an address.

    Args:
        wanted: One of `names`, or HOST:PORT.
        access: The account and the encryption for an endpoint at an address.
        endpoint: Whose settings an Apache gets.

    Raises:
        ArtifactError: Apache cannot be fetched, or there is no Java.
        EndpointError: it does not start.
        RemotingError: no endpoint answers at the address.
    """
    if wanted not in names():
        yield probe(Access(namesrv=wanted, credentials=access.credentials, tls=access.tls))
        return
    with tempfile.TemporaryDirectory(prefix="rocketwire-apache-") as folder:
        apache = Apache(
            Path(folder), version=wanted.removeprefix(PREFIX), settings=settings_for(endpoint.configuration)
        )
        with running(apache) as started:
            yield probe(Access(namesrv=started.namesrv))


def settings_for(configuration: Mapping[str, str]) -> dict[str, str]:
    """The keys that a reference gets of an endpoint's."""
    return {key: configuration[key] for key in _TAKEN if configuration.get(key)}
