"""Runs operations of the client library's core on the server's connections: the driver for the server's loop."""

from __future__ import annotations

from typing import Any, TypeVar

import trio

from rocketwire.remoting.core.steps import Operation, SendAndWait, Sleep
from rocketwire.remoting.errors import NotReached
from rocketwire.server.upstream.connecting import UpstreamConnectionError
from rocketwire.server.upstream.connection_pool import ConnectionPool

T = TypeVar("T")


async def run_operation(pool: ConnectionPool, operation: Operation[T]) -> T:
    """Run an operation, which sends requests and sleeps; return its result.

    Raises:
        RemotingError: it fails: a server does not answer, or refuses.
    """
    result: Any = None
    error: Exception | None = None
    try:
        while True:
            try:
                step = operation.send(result) if error is None else operation.throw(error)
            except StopIteration as done:
                value: T = done.value
                return value
            result = error = None
            match step:
                case SendAndWait(peer, request, seconds):
                    try:
                        result = await pool.send_request(peer.address, request, seconds=seconds)
                    except UpstreamConnectionError as failure:
                        error = NotReached(str(peer), str(failure))
                        error.__cause__ = failure
                case Sleep(seconds):
                    await trio.sleep(seconds)
                case None:
                    await trio.lowlevel.checkpoint()
                case _:
                    raise TypeError(f"this step needs another driver: {step}")
    finally:
        operation.close()
