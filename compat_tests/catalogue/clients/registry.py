"""All clients, by id. A new client is one line here."""

from __future__ import annotations

from functools import cache

from rocketwire.compat.clients.adapter import Adapter
from rocketwire.compat.clients.camel.adapter import CamelClient
from rocketwire.compat.clients.go.adapter import GoClient
from rocketwire.compat.clients.java.adapter import JavaClient
from rocketwire.compat.clients.node.adapter import NodeClient
from rocketwire.compat.clients.openmessaging.adapter import OpenMessagingClient
from rocketwire.compat.clients.python.adapter import PythonClient
from rocketwire.compat.clients.sdk.go.adapter import GoSdk
from rocketwire.compat.clients.sdk.java.adapter import VERSIONS, JavaSdk
from rocketwire.compat.clients.sdk.node.adapter import NodeSdk
from rocketwire.compat.clients.sdk.python.adapter import PythonSdk
from rocketwire.compat.clients.sdk.rust.adapter import RustSdk
from rocketwire.compat.clients.spring.adapter import STARTERS, SpringClient
from rocketwire.compat.environment.artifacts import CLIENT_VERSIONS


@cache
def adapters() -> dict[str, Adapter]:
    """The adapter of each client, in the order of reports."""
    found: list[Adapter] = [
        *(JavaClient(version) for version in sorted(CLIENT_VERSIONS)),
        *(SpringClient(remoting) for remoting in STARTERS),
        OpenMessagingClient(),
        CamelClient(),
        GoClient(),
        NodeClient(),
        PythonClient(),
        *(JavaSdk(version) for version in VERSIONS),
        PythonSdk(),
        GoSdk(),
        NodeSdk(),
        RustSdk(),
    ]
    return {each.id: each for each in found}
