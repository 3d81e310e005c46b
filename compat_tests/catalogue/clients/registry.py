"""All clients, by id. A new client is one line here."""

from __future__ import annotations

from functools import cache

from rocketwire.compat.clients.adapter import Adapter
from rocketwire.compat.clients.java.adapter import JavaClient
from rocketwire.compat.environment.artifacts import CLIENT_VERSIONS


@cache
def adapters() -> dict[str, Adapter]:
    """The adapter of each client, in the order of reports."""
    found: list[Adapter] = [*(JavaClient(version) for version in sorted(CLIENT_VERSIONS))]
    return {each.id: each for each in found}
