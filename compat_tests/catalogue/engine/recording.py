"""The recording proxy around one attempt, and what passed through it as evidence."""

from __future__ import annotations

import json
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import trio

from rocketwire.capture.contents.frames import RecordedFrame as Decoded
from rocketwire.capture.contents.frames import response_name
from rocketwire.capture.contents.shown import Item, items_of
from rocketwire.capture.file.events import Event, StreamSource
from rocketwire.capture.file.reader import load
from rocketwire.capture.file.writer import RecordingWriter
from rocketwire.capture.record.proxy import RecordingProxy, Upstream
from rocketwire.capture.record.relay import RecordingOptions
from rocketwire.capture.record.routes import listen
from rocketwire.compat.endpoint import Access
from rocketwire.compat.results import Frame
from rocketwire.remoting.requests import name_server_addresses
from rocketwire.wire.addresses import Address

_HOST: Final = "127.0.0.1"
_READY_WITHIN: Final = 30.0  # seconds
_MOST: Final = 300  # frames that are kept of an attempt: as many from its start as from its end
_LONGEST: Final = 6_000  # characters of a decoded frame


class Recording:
    """A proxy in front of an endpoint, in a thread, inside its `with`; clients use the name server `namesrv`."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._folder = tempfile.TemporaryDirectory(prefix="rocketwire-compat-")
        self._file = str(Path(self._folder.name) / "session.rwr")
        self._ready = threading.Event()
        self._token: trio.lowlevel.TrioToken | None = None
        self._scope = trio.CancelScope()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._events: list[Event] = []
        self.namesrv = ""

    def __enter__(self) -> Self:
        """Listen. Raises RuntimeError when the proxy does not start."""
        self._thread.start()
        if not self._ready.wait(_READY_WITHIN) or not self.namesrv:
            raise RuntimeError(f"the recording proxy did not start: {self._failure}")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        """Stop, and read what was recorded."""
        if self._token is not None:
            self._token.run_sync_soon(self._scope.cancel)
        self._thread.join()
        try:
            self._events = load(self._file, lambda _: None) if self.namesrv else []
        finally:
            self._folder.cleanup()

    def _run(self) -> None:
        try:
            trio.run(self._proxy)
        except BaseException as error:  # noqa: BLE001 - __enter__ raises it
            self._failure = error
        finally:
            self._ready.set()

    async def _proxy(self) -> None:
        from rocketwire import __version__

        began = time.monotonic_ns()
        upstream = Upstream(
            name_servers=tuple(name_server_addresses(self._access.namesrv)), tls=self._access.tls, timeout=15.0
        )
        with listen(Address(host=_HOST, port=0)) as sock, RecordingWriter(self._file) as writer, self._scope:
            proxy = RecordingProxy(
                upstream,
                writer,
                options=RecordingOptions(bodies=True, secrets=False),
                now=lambda: (time.monotonic_ns() - began) // 1000,
                warn=lambda _: None,
            )
            self._token = trio.lowlevel.current_trio_token()
            await proxy.run(
                sock,
                host=_HOST,
                wall=time.time_ns() // 1_000_000,
                program=f"rocketwire {__version__}",
                ready=self._is_ready,
            )

    def _is_ready(self, address: Address) -> None:
        self.namesrv = str(address)
        self._ready.set()

    @property
    def items(self) -> list[Item]:
        """What was recorded, once the `with` has ended."""
        return list(items_of(self._events))

    def frames(self) -> tuple[Frame, ...]:
        """The frames for the results, once the `with` has ended: all, or the first and the last of many."""
        found = [item for item in self.items if isinstance(item.event, Decoded)]
        if len(found) > _MOST:
            found = found[: _MOST // 2] + found[-_MOST // 2 :]
        return tuple(map(_frame, found))


def _frame(item: Item) -> Frame:
    assert isinstance(item.event, Decoded)
    detail = json.dumps(item.detail(), indent=1, ensure_ascii=False, default=str)
    return Frame(
        at=max(0, item.wall or 0),
        connection=item.connection or 0,
        sender="client" if item.event.sent.source is StreamSource.CLIENT else "endpoint",
        summary=summary(item),
        detail=detail if len(detail) <= _LONGEST else f"{detail[:_LONGEST]} ...",
    )


def summary(item: Item) -> str:
    """A frame in one line."""
    answer = "" if item.answer is None else f"answer {response_name(item.answer)}"
    parts: Sequence[str] = (item.what, answer, item.topic, f"group {item.group}" if item.group else "")
    return "  ".join(part for part in parts if part)
