"""A pool of connections to other servers: one for each address, shared by all who ask that server something."""

from __future__ import annotations

from collections.abc import Mapping

import trio

from rocketwire.server.upstream.line import CONNECT_SECONDS, LANGUAGE, Answer, Line, NotReached, connect
from rocketwire.wire.addresses import Address
from rocketwire.wire.codes import VERSION_4_9_7


class Lines:
    """The connections; each is made when its server is asked first, and made anew when it was lost."""

    def __init__(self) -> None:
        self._lines: dict[Address, Line] = {}
        self._connecting: dict[Address, trio.Lock] = {}
        self._nursery: trio.Nursery | None = None
        self._runs = trio.Event()

    async def run(self) -> None:
        """Carry the connections; never returns."""
        async with trio.open_nursery() as self._nursery:
            self._runs.set()
            try:
                await trio.sleep_forever()
            finally:
                for line in self._lines.values():
                    line.close()

    async def ask(
        self,
        address: Address,
        code: int,
        ext: Mapping[str, str],
        body: bytes = b"",
        *,
        seconds: float = CONNECT_SECONDS,
        language: str = LANGUAGE,
        version: int = VERSION_4_9_7,
    ) -> Answer:
        """The answer of a server to a request.

        Raises:
            NotReached: it cannot be reached, closed the connection, or did not answer within `seconds`.
        """
        line = self._lines.get(address)
        if line is None or line.lost.is_set():
            line = await self._connected(address)
        return await line.ask(code, ext, body, seconds=seconds, language=language, version=version)

    async def _connected(self, address: Address) -> Line:
        await self._runs.wait()
        assert self._nursery is not None  # noqa: S101 - it runs
        async with self._connecting.setdefault(address, trio.Lock()):
            line = self._lines.get(address)
            if line is None or line.lost.is_set():
                line = self._lines[address] = await connect(address, self._nursery)
        return line

    def keep_only(self, addresses: set[Address]) -> None:
        """Close the connections to all other servers."""
        for address in [each for each in self._lines if each not in addresses]:
            self._lines.pop(address).close()
            self._connecting.pop(address, None)


__all__ = ["Answer", "Lines", "NotReached"]
