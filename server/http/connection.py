"""One HTTP connection: one request after the other, each read whole, within bounds of time and size.

h11 implements the protocol. An error of the client is answered with its status and ends the connection; no input
raises.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qsl, unquote

import h11
import trio

from rocketwire.server.core.clocks.clock import Clock, http_date
from rocketwire.server.http.hosts import is_own_host
from rocketwire.server.http.messages import HttpRequest, HttpResponse, Routes, text_response

log = logging.getLogger(__name__)

LARGEST_HEAD: Final = 16 * 1024
"""The most bytes of a request's line and headers."""
LARGEST_BODY: Final = 64 * 1024
FIRST_SECONDS: Final = 5.0
"""How long a new connection may be silent."""
IDLE_SECONDS: Final = 60.0
"""How long a connection may be silent between two requests: Prometheus keeps its connection between scrapes."""
REQUEST_SECONDS: Final = 10.0
"""How long a request may take from its first byte to its last."""
HANDLER_SECONDS: Final = 30.0
SEND_SECONDS: Final = 30.0
"""How long a client may take to read a response."""
_LINGER_SECONDS: Final = 1.0
_LINGER_BYTES: Final = 1024 * 1024
_MOST_PARAMETERS: Final = 64
_READING: Final = frozenset({"GET", "HEAD"})
_BY_A_PERSON: Final = "none"
"""`Sec-Fetch-Site` of browsers if a user typed the address; else a page of a web site sent the request."""


class _Refused(Exception):
    """A request is refused before any handler sees it."""

    def __init__(self, status: HTTPStatus, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class HttpConnection:
    """Serves one stream with a table of routes.

    Args:
        stream: Closed at the end.
        routes: The handlers by method and path.
        clock: The time for the responses' dates.
        hosts: Names with a dot by which the server may be called; see `hosts.is_own_host`.
        ended: Called before the stream is closed, or instead.
        make_room: Called with the length of each answer before it is sent.

    Attributes:
        unread: Bytes of the answer that is being sent.
        waits_since: When it began to wait for its client, in seconds of the event loop; None while a handler works.
    """

    def __init__(
        self,
        stream: trio.SocketStream,
        routes: Routes,
        clock: Clock,
        *,
        hosts: frozenset[str] = frozenset(),
        ended: Callable[[], None] = lambda: None,
        make_room: Callable[[int], None] = lambda _: None,
    ) -> None:
        self.unread_bytes = 0
        self._make_room = make_room
        self._stream = stream
        self._hosts = hosts
        self._on_end = ended
        self._routes = routes
        self._clock = clock
        self._h11 = h11.Connection(h11.SERVER, max_incomplete_event_size=LARGEST_HEAD - 1)
        self._patience = FIRST_SECONDS
        self._head_only = False
        self._scope = trio.CancelScope()
        self.waiting_since: float | None = trio.current_time()

    def close(self) -> None:
        """End it soon, whatever it is doing."""
        self._scope.cancel()

    async def run(self) -> None:
        """Serve until the client leaves, is silent for too long or makes an error, or `close` is called."""
        try:
            with self._scope:
                await self._serve_all()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return  # the client has disconnected

    async def _serve_all(self) -> None:
        async with self._stream:
            try:
                while await self._serve_one():
                    self._h11.start_next_cycle()
                    self._patience = IDLE_SECONDS
                    self._head_only = False
                await self._linger()
            finally:
                self._on_end()

    async def _serve_one(self) -> bool:
        """Answer a request; return whether another one may follow."""
        if not await self._wait_for_request():
            return False
        try:
            with trio.fail_after(REQUEST_SECONDS):
                head, body = await self._read()
        except h11.RemoteProtocolError as error:
            await self._send(text_response(str(error), status=error.error_status_hint), ends=True)
            return False
        except trio.TooSlowError:
            reason = f"the request did not come within {REQUEST_SECONDS:.0f} s"
            await self._send(text_response(reason, status=HTTPStatus.REQUEST_TIMEOUT), ends=True)
            return False
        except _Refused as refused:
            await self._send(text_response(str(refused), status=refused.status), ends=True)
            return False
        if head is None:
            return False
        self.waiting_since = None
        answer = await self._answer(head, body)
        self.waiting_since = trio.current_time()
        await self._send(answer)
        return self._h11.our_state is h11.DONE

    async def _wait_for_request(self) -> bool:
        """Wait for a request's first byte. False: the client disconnected, or was silent for too long."""
        if self._h11.trailing_data[0]:
            return True
        with trio.move_on_after(self._patience):
            return await self._receive()
        return False

    async def _receive(self) -> bool:
        # h11 limits the size of a head only while it is incomplete.
        data = await self._stream.receive_some(LARGEST_HEAD - len(self._h11.trailing_data[0]))
        self._h11.receive_data(data)
        return bool(data)

    async def _event(self) -> h11.Event:
        while True:
            event = self._h11.next_event()
            if isinstance(event, h11.Event):
                return event
            await self._receive()

    async def _read(self) -> tuple[h11.Request | None, bytes]:
        """A whole request; None if the client disconnected without sending one.

        Raises:
            RemoteProtocolError: the input is not a request.
            _Refused: its body is too large.
        """
        head = await self._event()
        if not isinstance(head, h11.Request):
            return None, b""
        self._head_only = head.method == b"HEAD"
        too_large = _Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body may have {LARGEST_BODY} bytes")
        if any(name == b"content-length" and int(value) > LARGEST_BODY for name, value in head.headers):
            raise too_large
        if self._h11.they_are_waiting_for_100_continue:
            await self._write(h11.InformationalResponse(status_code=HTTPStatus.CONTINUE, headers=[]))
        body = bytearray()
        while isinstance(event := await self._event(), h11.Data):
            body += event.data
            if len(body) > LARGEST_BODY:
                raise too_large
        return head, bytes(body)

    async def _answer(self, head: h11.Request, body: bytes) -> HttpResponse:
        try:
            request = _request(head, body)
            self._check_sender(head.method, request.headers)
            handler = self._routes.get((request.method, request.path))
            if handler is None:
                return self._no_handler(request.path)
            with trio.fail_after(HANDLER_SECONDS):
                return await handler(request)
        except _Refused as refused:
            return text_response(str(refused), status=refused.status)
        except trio.TooSlowError:
            return text_response(f"not done within {HANDLER_SECONDS:.0f} s", status=HTTPStatus.SERVICE_UNAVAILABLE)
        except Exception:  # a handler's bug must not end the server
            log.exception("HTTP request %(target)s", {"target": head.target.decode()})
            return text_response("a bug; the server's log says more", status=HTTPStatus.INTERNAL_SERVER_ERROR)

    def _check_sender(self, method: bytes, headers: Mapping[str, str]) -> None:
        """Refuse what a web site has a browser send.

        Raises:
            _Refused: the request calls the server by another site's name, or a page wants to change something.
        """
        host = headers.get("host", "")
        if not is_own_host(host, self._hosts):
            reason = f"Host {host!r}: expected an address, a name without a dot, or one of the key httpHosts"
            raise _Refused(HTTPStatus.MISDIRECTED_REQUEST, reason)
        by_page = "origin" in headers or headers.get("sec-fetch-site", _BY_A_PERSON) != _BY_A_PERSON
        if method.decode() not in _READING and by_page:
            raise _Refused(HTTPStatus.FORBIDDEN, "requests of web pages change nothing here")

    def _no_handler(self, path: str) -> HttpResponse:
        methods = sorted(method for method, each in self._routes if each == path)
        if not methods:
            known = " ".join(sorted({each for _, each in self._routes}))
            return text_response(f"not found; there are {known}", status=HTTPStatus.NOT_FOUND)
        if "GET" in methods:
            methods.append("HEAD")
        allowed = ", ".join(methods)
        return text_response(
            f"allowed methods: {allowed}", status=HTTPStatus.METHOD_NOT_ALLOWED, headers=(("Allow", allowed),)
        )

    async def _send(self, response: HttpResponse, *, ends: bool = False) -> None:
        headers = [
            ("Content-Type", response.content_type),
            ("Content-Length", str(len(response.body))),
            ("Cache-Control", "no-store"),
            ("Date", http_date(self._clock())),
            *response.headers,
        ]
        if ends:
            headers.append(("Connection", "close"))
        reason = HTTPStatus(response.status).phrase
        events: list[h11.Event] = [h11.Response(status_code=response.status, reason=reason, headers=headers)]
        if not self._head_only:
            events.append(h11.Data(data=response.body))
        await self._write(*events, h11.EndOfMessage())

    async def _write(self, *events: h11.Event) -> None:
        data = b"".join(self._h11.send(event) or b"" for event in events)
        self._make_room(len(data))
        self.unread_bytes = len(data)
        with trio.move_on_after(SEND_SECONDS) as scope:
            await self._stream.send_all(data)
        self.unread_bytes = 0
        if scope.cancelled_caught:  # a part of it is sent: nothing can follow
            raise trio.ClosedResourceError

    async def _linger(self) -> None:
        """Read on for a moment: closing a socket with unread input would discard the response."""
        await self._stream.send_eof()
        unread = _LINGER_BYTES
        with trio.move_on_after(_LINGER_SECONDS):
            while unread > 0 and (data := await self._stream.receive_some(LARGEST_HEAD)):
                unread -= len(data)


def _request(head: h11.Request, body: bytes) -> HttpRequest:
    """Make the request that a handler receives.

    Raises:
        _Refused: the query has too many parameters.
    """
    method = head.method.decode()
    headers = {name.decode(): value.decode("latin-1") for name, value in head.headers}
    target = head.target.decode()
    if not target.startswith("/"):  # a proxy's form: http://host/path
        target = "/" + target.partition("://")[2].partition("/")[2]
    path, _, query = target.partition("?")
    try:
        parameters = dict(parse_qsl(query, keep_blank_values=True, max_num_fields=_MOST_PARAMETERS))
    except ValueError as error:
        raise _Refused(HTTPStatus.BAD_REQUEST, f"a query may have {_MOST_PARAMETERS} parameters") from error
    return HttpRequest(
        method="GET" if method == "HEAD" else method,
        path=unquote(path),
        parameters=parameters,
        headers=headers,
        body=body,
    )
