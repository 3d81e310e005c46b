"""The processes of clients that a run's threads share: each is used by one thread at a time, and used again."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping
from typing import TypeAlias

from rocketwire.compat.clients.adapter import Adapter, Engine
from rocketwire.compat.clients.client import Clients, Stopped

_Key: TypeAlias = tuple[str, tuple[tuple[str, str], ...]]


class Pool:
    """Starts processes of clients as they are needed.

    Args:
        engine: Where they run.
        adapters: How each client is started, by its id; all are prepared.
    """

    def __init__(self, engine: Engine, adapters: Mapping[str, Adapter]) -> None:
        self._engine = engine
        self._adapters = adapters
        self._idle: dict[_Key, list[Clients]] = defaultdict(list)
        self._all: set[Clients] = set()
        self._lock = threading.Lock()
        self._stopped = False

    def runner_command(self, client: str, env: Mapping[str, str], name: str) -> list[str]:
        """The command of a client's process; `Clients` call this."""
        return self._adapters[client].command(self._engine, env=env, name=name)

    def take(self, client: str, env: Mapping[str, str]) -> Clients:
        """A process of a client with these variables that is not in use; it is started when it is used first.

        Raises:
            Stopped: `stop` was called.
        """
        with self._lock:
            if self._stopped:
                raise Stopped
            idle = self._idle[_key(client, env)]
            if idle:
                return idle.pop()
            made = Clients(self, env)
            self._all.add(made)
            return made

    def give_back(self, clients: Clients, client: str, env: Mapping[str, str]) -> None:
        """Yield to others use it."""
        with self._lock:
            self._idle[_key(client, env)].append(clients)

    def close_idle(self, client: str) -> None:
        """End the idle processes of a client."""
        with self._lock:
            keys = [key for key in self._idle if key[0] == client]
            ended = [each for key in keys for each in self._idle.pop(key)]
            self._all.difference_update(ended)
        for each in ended:
            each.close()

    def stop(self) -> None:
        """Kill all processes, and start none any more."""
        with self._lock:
            self._stopped = True
            for each in self._all:
                each.stop()

    def close(self) -> None:
        """End all processes; none may be in use."""
        with self._lock:
            ended, self._all = self._all, set()
            self._idle.clear()
        threads = [threading.Thread(target=each.close) for each in ended]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def _key(client: str, env: Mapping[str, str]) -> _Key:
    return client, tuple(sorted(env.items()))
