"""A server that tests speak for: a thread for each connection."""

import json
import socket
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self


class FakeServer:
    """Serves each connection by `serve`, until the context ends."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(10)

    def _start(self, work: Callable[[], None]) -> None:
        self._threads.append(threading.Thread(target=work, daemon=True))
        self._threads[-1].start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._start(lambda client=client: self.serve(client))  # type: ignore[misc]  # binds this turn's client

    def serve(self, client: socket.socket) -> None:
        """Serve one connection; a subclass implements it."""
        raise NotImplementedError


def run(load: Path, server: FakeServer, mode: str, *options: str) -> tuple[int, dict[str, Any]]:
    """Run a load program against the server for 0.2 s: its exit code and its result."""
    command = [str(load), mode, "--port", str(server.port), "--warmup", "0", "--seconds", "0.2", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    return done.returncode, json.loads(done.stdout)
