"""One broker's process: started, watched, and started again when it ends."""

from __future__ import annotations

import json
import logging
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import trio

from rocketwire.server.members.news import LineReader, MemberNews, read_news
from rocketwire.server.supervisor.errors import BrokerNotStarted
from rocketwire.wire.addresses import Address, parse_address
from rocketwire.wire.errors import WireError

log = logging.getLogger(__name__)

AGAIN_SECONDS: Final = 1.0
"""At least so long lies between two starts of a broker."""
STOP_SECONDS: Final = 60.0
"""So long a broker may take to stop; then it is killed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerCommand:
    """How a broker is started.

    Attributes:
        name: The broker's name.
        listen: Where it listens; port 0: where it listened before, at first any free port.
        grpc: Likewise for clients of 5.x; None: as the arguments say.
        arguments: Of `rocketwire serve`, without `--broker` and `--register`.
        name_servers: The name servers beside the supervisor's.
    """

    name: str
    listen: Address
    grpc: Address | None = None
    arguments: tuple[str, ...]
    name_servers: tuple[Address, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyBroker:
    """A broker that runs: the addresses that it has printed; None: it has nothing of that kind."""

    address: Address
    http: Address | None
    grpc: Address | None


_PRINTED: Final = ("broker", "http", "grpc")
"""The addresses of the ready line."""


class BrokerProcess:
    """A broker.

    Args:
        command: How it is started.
        name_server: The supervisor's name server.
        environment: The variables of its process.
        on_start: Called each time it is ready.
        on_end: Called when it has ended.
        on_news: Gets what it reports.

    Attributes:
        name: Its name.
        running: Its addresses; None: it does not run, or is not ready.
        restarts: How often it was started again.
    """

    def __init__(
        self,
        command: BrokerCommand,
        name_server: Address,
        environment: Mapping[str, str],
        *,
        on_start: Callable[[BrokerProcess], None],
        on_end: Callable[[BrokerProcess], None],
        on_news: Callable[[BrokerProcess, MemberNews], None],
    ) -> None:
        self._command = command
        self._name_server = name_server
        self._environment = environment
        self._on_start = on_start
        self._on_end = on_end
        self._on_news = on_news
        self._listen = command.listen
        self._grpc = command.grpc
        self._to_send, self._sent = trio.open_memory_channel[bytes](sys.maxsize)
        self.name = command.name
        self.running: ReadyBroker | None = None
        self.restarts = 0

    def send(self, lines: Iterable[bytes]) -> None:
        """Send lines to the broker, if it runs."""
        if self.running is not None:
            for line in lines:
                self._to_send.send_nowait(line)

    async def run(self, *, task_status: trio.TaskStatus[None]) -> None:
        """Keep the broker running; started once it is ready for the first time. When cancelled, stop it.

        Raises:
            BrokerNotStarted: it ended before it was ready for the first time.
        """
        ended = await self._run_once(task_status.started)
        if not ended.was_ready:
            raise BrokerNotStarted(f"{self.name} could not be started ({_how(ended.code)})")
        while True:
            log.warning("%(broker)s ended (%(how)s); starting it again", {"broker": self.name, "how": _how(ended.code)})
            await trio.sleep_until(ended.began + AGAIN_SECONDS)
            self.restarts += 1
            ended = await self._run_once(lambda: None)

    async def _run_once(self, on_ready: Callable[[], None]) -> _Ended:
        """Run the broker until it ends."""
        began = trio.current_time()
        process = await trio.lowlevel.open_process(
            self._arguments(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self._environment,
            start_new_session=True,  # Ctrl-C in a terminal is the supervisor's
        )
        was_ready = False
        assert process.stdin is not None and process.stdout is not None  # noqa: S101, PT018 - both are pipes
        reader = LineReader(process.stdout)
        try:
            async with trio.open_nursery() as nursery:
                while (lines := await reader.receive()) is not None:
                    if lines and not was_ready:
                        was_ready = True
                        self._take_addresses(json.loads(lines.pop(0)))
                        nursery.start_soon(self._send_all, process.stdin)
                        self._on_start(self)
                        on_ready()
                    for line in lines:
                        self._take_report(line)
                await process.wait()
                nursery.cancel_scope.cancel()
        finally:
            self.running = None
            self._forget_unsent()
            with trio.CancelScope(shield=True):
                await _stop(process, self.name)
            self._on_end(self)
        return _Ended(began, process.returncode or 0, was_ready)

    def _take_report(self, line: bytes) -> None:
        try:
            self._on_news(self, read_news(line))
        except WireError as error:
            log.warning("%(broker)s: a report cannot be read: %(reason)s", {"broker": self.name, "reason": error})

    def _arguments(self) -> list[str]:
        command = self._command
        registered = ";".join(map(str, (self._name_server, *command.name_servers)))
        where = ["--broker", str(self._listen), "--register", registered]
        if self._grpc is not None:
            where += ["--grpc", str(self._grpc)]
        return [sys.executable, "-m", "rocketwire", "serve", *where, *command.arguments]

    def _take_addresses(self, printed: Mapping[str, str | None]) -> None:
        """Note the addresses of the ready line; the broker has the same port when it is started again."""
        address, http, grpc = (None if text is None else parse_address(text) for text in map(printed.get, _PRINTED))
        assert address is not None  # noqa: S101 - the process has a broker
        self._listen = _with_port(self._listen, address)
        if self._grpc is not None and grpc is not None:
            self._grpc = _with_port(self._grpc, grpc)
        self.running = ReadyBroker(address=address, http=http, grpc=grpc)

    async def _send_all(self, stream: trio.abc.SendStream) -> None:
        try:
            async for line in self._sent:
                await stream.send_all(line)
        except trio.BrokenResourceError:
            pass  # it is about to end

    def _forget_unsent(self) -> None:
        while self._sent.statistics().current_buffer_used:
            self._sent.receive_nowait()


@dataclass(frozen=True, slots=True)
class _Ended:
    began: float
    code: int
    was_ready: bool


def _with_port(wanted: Address, printed: Address) -> Address:
    """Where to listen again: on the port that was free."""
    return wanted if wanted.port else replace(wanted, port=printed.port)


def _how(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


async def _stop(process: trio.Process, name: str) -> None:
    """Stop a process, and wait until it has ended."""
    if process.poll() is None:
        process.terminate()
        with trio.move_on_after(STOP_SECONDS):
            await process.wait()
    if process.poll() is None:
        log.error("%(broker)s did not stop within %(seconds)d s: killed", {"broker": name, "seconds": STOP_SECONDS})
        process.kill()
        await process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            await trio.aclose_forcefully(stream)
