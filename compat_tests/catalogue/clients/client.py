"""A client at an endpoint, as scenarios use it, and the processes behind it."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol, Self

from rocketwire.compat.clients.process import Argument, Runner
from rocketwire.compat.messages import Event

LONGEST: Final = 300.0
"""Seconds that no program takes: its own waits end before."""
_PATIENCE: Final = 0.6
"""What a program waits for messages, as a part of the remaining time: then it prints what it has received."""


class Starter(Protocol):
    """Knows how the process of a client is started."""

    def runner_command(self, client: str, env: Mapping[str, str], name: str) -> list[str]:
        """The command for the client of this id; `name` is unique."""


class Stopped(Exception):
    """The run was stopped: no process is started any more."""


class Clients:
    """The processes of clients, started when first needed; `env` is what their environment has besides.

    One thread uses it; another one may call `stop`.
    """

    def __init__(self, starter: Starter, env: Mapping[str, str] | None = None) -> None:
        self._starter = starter
        self._env = env or {}
        self._runners: dict[str, Runner] = {}
        self._lock = threading.Lock()
        self._stopped = False

    def runner(self, client: str) -> Runner:
        """The running process of a client. Raises Stopped once `stop` was called."""
        with self._lock:
            runner = self._runners.get(client)
            if self._stopped:
                raise Stopped
            if runner is None or not runner.running:
                if runner is not None:
                    runner.close()
                command = self._starter.runner_command(client, self._env, f"rocketwire-{uuid.uuid4().hex[:12]}")
                runner = self._runners[client] = Runner(client, command)
            return runner

    def log_size(self, client: str) -> int:
        """How many bytes a client's process has logged; 0 while it has none."""
        runner = self._runners.get(client)
        return runner.log_size() if runner is not None and runner.running else 0

    def log(self, client: str, begin: int) -> str:
        """What a client's process has logged from the byte `begin` on, the end of it if it is long."""
        runner = self._runners.get(client)
        return "" if runner is None else runner.log(begin)

    def stop(self) -> None:
        """Kill them all, and start none any more: what uses them fails."""
        with self._lock:
            self._stopped = True
            for runner in self._runners.values():
                runner.signal_end()

    def __enter__(self) -> Self:
        """Close them at the end of a `with`."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close."""
        self.close()

    def close(self) -> None:
        """End them all."""
        for runner in self._runners.values():
            runner.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """An official client of one version with one name server's address.

    Attributes:
        clients: Its process is one of these.
        id: The client's.
        namesrv: HOST:PORT, several with `;` between.
        always: Goes with each request.
        deadline: When, in the time of `time.monotonic`, a program is ended at the latest.
    """

    clients: Clients
    id: str
    namesrv: str
    always: Mapping[str, Argument] = field(default_factory=dict, repr=False)
    deadline: float | None = None

    @property
    def version(self) -> str:
        """The version in its id."""
        return self.id.rpartition("-")[2]

    def run(
        self,
        program: str,
        named: Mapping[str, Argument] | None = None,
        /,
        *,
        within: float = LONGEST,
        watch: Callable[[Event], None] | None = None,
        **arguments: Argument,
    ) -> list[Event]:
        """What the program printed, given arguments as a mapping, by keyword or both. Raises ProgramFailed."""
        every: dict[str, Argument] = {"namesrv": self.namesrv, **self.always, **(named or {}), **arguments}
        if self.deadline is not None:
            left = max(0.1, self.deadline - time.monotonic())
            within = min(within, left)
            every.setdefault("wait", max(1, int(left * _PATIENCE)))
        return self.clients.runner(self.id).run(program, every, within=within, watch=watch)

    def only(
        self,
        event: str,
        program: str,
        named: Mapping[str, Argument] | None = None,
        /,
        *,
        within: float = LONGEST,
        **arguments: Argument,
    ) -> list[Event]:
        """What the program printed of one kind of event."""
        return events(self.run(program, {**(named or {}), **arguments}, within=within), event)


def events(all_events: Iterable[Event], kind: str) -> list[Event]:
    """Those of one kind, in order."""
    return [event for event in all_events if event["event"] == kind]
