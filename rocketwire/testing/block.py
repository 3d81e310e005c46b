"""`endpoint()`: a fresh endpoint in a `with` block, or in an `async with` block of asyncio or trio."""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from rocketwire.testing.errors import NotInProcess
from rocketwire.testing.forker import own_forker
from rocketwire.testing.options import EndpointPorts, EndpointSettings, Setting, by_name, texts

if TYPE_CHECKING:
    from rocketwire.testing.aio import AsyncEndpoint
    from rocketwire.testing.blocking import Endpoint

_QUEUES = 4


def endpoint(
    *,
    settings: Mapping[str, Setting] | None = None,
    acl: str | Path | Sequence[Mapping[str, object]] | None = None,
    faults: str | Iterable[str] = (),
    topics: str | Mapping[str, int] | Iterable[str] = (),
    ports: EndpointPorts | None = None,
    store: str | Path | None = None,
    tls: ssl.SSLContext | None = None,
    in_process: bool = False,
    log_level: str = "info",
    start_seconds: float = 120.0,
) -> EndpointBlock:
    """A fresh name server and broker, for a `with` block or an `async with` block of asyncio or trio.

    ```
    with endpoint(topics=["Orders"]) as ep:
        ep.send("Orders", b"two books", keys="ORDER-7")
        (message,) = ep.receive("Orders")
    ```

    The block gets an `Endpoint`, or in the second form an `AsyncEndpoint`. The server has a separate process, which
    ends with the block, and with this process, however it ends.

    Args:
        settings: Keys of `broker.conf` and their values.
        acl: Has it check accounts: Apache's `plain_acl.yml`, or a list of its accounts. The endpoint's own client gets
            an account besides.
        faults: Rules that are in force from the start, as `rocketwire serve --fault` takes them.
        topics: Topics to create, with their numbers of queues, 4 by default.
        ports: Ports to take in place of free ones: `namesrv`, `broker`, `http`, `grpc`.
        store: A folder for the store that stays; by default it is in a temporary folder, in memory if there is room.
        tls: With what the endpoint's own client encrypts, where `settings` make the server want TLS.
        in_process: Run the server in tasks of this process; only with `async with`, on trio.
        log_level: The least severe level of the server's log: `debug`, `info`, `warning` or `error`.
        start_seconds: How long a start may take.
    """
    options = EndpointSettings(
        settings=settings or {},
        acl=acl,
        faults=texts(faults),
        topics=by_name(topics, _QUEUES),
        ports=ports or EndpointPorts(),
        store=None if store is None else Path(store),
        log_level=log_level,
        start_seconds=start_seconds,
    )
    return EndpointBlock(options, tls, in_process=in_process)


class EndpointBlock:
    """What `endpoint` returns: each block that uses it gets a fresh endpoint, one at a time."""

    def __init__(self, options: EndpointSettings, tls: ssl.SSLContext | None, *, in_process: bool) -> None:
        self._options = options
        self._tls = tls
        self._in_process = in_process
        self._blocking: Endpoint | None = None
        self._asynchronous: AbstractAsyncContextManager[AsyncEndpoint] | None = None

    def __enter__(self) -> Endpoint:
        """Start it.

        Raises:
            NotStarted: it does not start.
            NotInProcess: `in_process` is set.
        """
        if self._in_process:
            raise NotInProcess("in_process is for trio: use `async with`")
        own_forker().prepare()  # it imports on another core what a server needs, while this process imports a client
        from rocketwire.testing.blocking import Endpoint

        self._blocking = Endpoint(self._options, self._tls)
        return self._blocking

    def __exit__(self, *_: object) -> None:
        """Stop it and remove what it stored."""
        if self._blocking is not None:
            self._blocking.close()

    async def __aenter__(self) -> AsyncEndpoint:
        """Start it.

        Raises:
            NotStarted: it does not start.
        """
        if not self._in_process:
            own_forker().prepare()
        from rocketwire.testing.aio import opened

        self._asynchronous = opened(self._options, self._tls, in_process=self._in_process)
        return await self._asynchronous.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        """Stop it and remove what it stored."""
        return None if self._asynchronous is None else await self._asynchronous.__aexit__(kind, error, traceback)
