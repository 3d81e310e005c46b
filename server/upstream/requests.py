"""Requests to one server whose answers are waited for: one, or several that leave with one write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import trio

from rocketwire.remoting.core.session import ClientRequest, Response
from rocketwire.server.upstream.broker_connection import BrokerConnection
from rocketwire.server.upstream.connecting import CONNECT_SECONDS, UpstreamConnectionError


async def send_request(
    connection: BrokerConnection, request: ClientRequest, *, seconds: float = CONNECT_SECONDS
) -> Response:
    """The answer to a request.

    Raises:
        UpstreamConnectionError: the connection ended, or there was no answer within `seconds`.
        WireError: the request does not fit in a frame.
    """
    (answer,) = await send_requests(connection, [request], seconds=seconds)
    if isinstance(answer, UpstreamConnectionError):
        raise answer
    return answer


async def send_requests(
    connection: BrokerConnection, requests: Sequence[ClientRequest], *, seconds: float
) -> list[Response | UpstreamConnectionError]:
    """The answer to each request, or the reason why there is none within `seconds`, in their order.

    Raises:
        WireError: one does not fit in a frame.
    """
    complete = trio.Event()
    found: list[Response | UpstreamConnectionError] = []

    def on_answers(answers: list[Response | UpstreamConnectionError]) -> None:
        found.extend(answers)
        complete.set()

    opaques = start_requests(connection, requests, seconds=seconds, on_answers=on_answers)
    try:
        await complete.wait()
    finally:
        for opaque in opaques:
            connection.forget(opaque)
    return found


def start_requests(
    connection: BrokerConnection,
    requests: Sequence[ClientRequest],
    *,
    seconds: float,
    on_answers: Callable[[list[Response | UpstreamConnectionError]], None],
) -> list[int]:
    """Send requests without a task that waits.

    Args:
        connection: The connection to the server.
        requests: The requests.
        seconds: How long each answer is waited for.
        on_answers: Gets what `send_requests` returns, perhaps before this returns.

    Returns:
        What `BrokerConnection.forget` takes, of each request.

    Raises:
        WireError: one does not fit in a frame; none is waited for.
    """
    found: dict[int, Response | UpstreamConnectionError] = {}
    opaques: list[int] = []

    def done(place: int, answer: Response | UpstreamConnectionError) -> None:
        found[place] = answer
        if len(found) == len(requests):
            on_answers([found[place] for place in range(len(requests))])

    try:
        for place, request in enumerate(requests):
            opaques.append(connection.send(request, seconds=seconds, done=partial(done, place)))
    except BaseException:
        for opaque in opaques:
            connection.forget(opaque)
        raise
    connection.flush()
    return opaques
