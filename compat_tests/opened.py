"""A client at an endpoint, for tests that run its programs singly."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

from rocketwire.compat.case import Case
from rocketwire.compat.clients.adapter import Engine
from rocketwire.compat.clients.client import Client, Clients
from rocketwire.compat.clients.registry import adapters
from rocketwire.compat.endpoint import Access
from rocketwire.compat.engine.pool import Pool
from rocketwire.compat.engine.probe import probe


@contextlib.contextmanager
def opened(name: str, access: Access, env: Mapping[str, str] | None = None) -> Iterator[Case]:
    """A client of one kind and version; `env` is what its process's environment has besides."""
    adapter = adapters()[name]
    adapter.prepare(Engine.HOST)
    with Clients(Pool(Engine.HOST, adapters()), env) as clients:
        always = {"endpoints": access.grpc} if access.grpc else {}
        client = Client(clients=clients, id=name, namesrv=access.namesrv, always=always)
        yield Case(client=client, offered=adapter.programs, helper=None, endpoint=probe(access), prefix="opened")
