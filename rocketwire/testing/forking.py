"""The program that server processes are forked from: it has imported the server once, and each start is a fork of it.

A process that uses endpoints has one such parent. It requests a server with a message of one byte and four descriptors:
a file with the request (JSON), the server's standard output, its log, and the folder that it is to be in. The answer is
the server's process number as text, and a descriptor of the process (pidfd), opened before any process can reap it;
without a descriptor the text describes the failure. The parent ends when the other end of its socket is closed, and
when its owner has ended.
Servers do not end with it: they watch the owner themselves (`--end-with`).
"""

from __future__ import annotations

import gc
import json
import os
import random  # noqa: TID251 - to have generators of others begin again
import select
import socket
import sys
import time
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Final, NoReturn, TextIO, TypedDict

# What a start imports, much of it only when it runs. Without the C kernel it also imports numpy, in a thread; numpy
# starts threads, and so nothing is forked after it.
_MODULES: Final = (
    "encodings.idna",
    "rocketwire.cli.serve",
    "rocketwire.server.monitoring.clock",
    "rocketwire.server.faults.faulty",
    "rocketwire.server.faults.grammar",
    "rocketwire.server.faults.http",
    "rocketwire.server.http.server",
    "rocketwire.server.monitoring.endpoint",
    "rocketwire.server.run",
)
_DESCRIPTORS: Final = 4


class ForkRequest(TypedDict):
    """What a server is to be: how its process is to differ from the parent's, besides its descriptors.

    Attributes:
        arguments: Of the command `rocketwire`.
        environment: All of its variables.
        umask: Its file mode creation mask.
    """

    arguments: list[str]
    environment: dict[str, str]
    umask: int


def main(connection: int, owner: int) -> None:
    """Fork servers until the connection is closed, or the process `owner` has ended."""
    preload()
    with socket.socket(fileno=connection) as sock:
        try:
            owned = os.pidfd_open(owner)
        except ProcessLookupError:
            return
        _Parent(sock, owned).run()


def preload() -> None:
    """Import all that a server needs up to its first requests."""
    gc.disable()  # nothing of it is garbage
    for name in _MODULES:
        import_module(name)


class _Parent:
    """The parent: its connection, its owner, and the servers that it has to reap."""

    def __init__(self, sock: socket.socket, owner: int) -> None:
        self._sock = sock
        self._owner = owner
        self._servers: dict[int, int] = {}
        self._poll = select.poll()
        for descriptor in (sock.fileno(), owner):
            self._poll.register(descriptor, select.POLLIN)
        # A fork would continue with the same numbers as its siblings; `random` reseeds only its own generator.
        self._generators = [each for each in gc.get_objects() if isinstance(each, random.Random)]

    def run(self) -> None:
        """Answer and reap until the end."""
        # The present objects stay: the collector of a fork need not visit them, which would copy their pages.
        gc.freeze()
        while True:
            ready = [descriptor for descriptor, _ in self._poll.poll()]
            for descriptor in ready:
                if descriptor in self._servers:
                    self._reap(descriptor)
            if self._owner in ready or (self._sock.fileno() in ready and not self._answer()):
                return

    def _reap(self, descriptor: int) -> None:
        self._poll.unregister(descriptor)
        os.waitpid(self._servers.pop(descriptor), 0)
        os.close(descriptor)

    def _answer(self) -> bool:
        """Fork a server for the next request; False if none will come."""
        try:
            request, descriptors, _, _ = socket.recv_fds(self._sock, 1, _DESCRIPTORS)
            if not request:
                return False
            try:
                pid = self._fork(descriptors)
            except OSError as error:
                self._sock.send(str(error).encode())
                return True
            finally:
                for descriptor in descriptors:
                    os.close(descriptor)
            server = os.pidfd_open(pid)
            self._servers[server] = pid
            self._poll.register(server, select.POLLIN)
            socket.send_fds(self._sock, [b"%d" % pid], [server])
        except ConnectionError:
            # The owner does not wait for the answer. The server's output has no reader, which ends it.
            return False
        return True

    def _fork(self, descriptors: Sequence[int]) -> int:
        pid = os.fork()
        if not pid:
            self._become(*descriptors)
        return pid

    def _become(self, request: int, output: int, log: int, folder: int) -> NoReturn:
        """Be the server, and end with it."""
        code: int | None = 1
        try:
            os.setsid()  # Ctrl-C is for the tests: they stop it
            self._sock.close()
            for descriptor in (self._owner, *self._servers):
                os.close(descriptor)
            # New streams: a stream learns when it is made whether its descriptor can seek.
            sys.stdout = _stream(output, sys.stdout)
            sys.stderr = _stream(log, sys.stderr)
            with os.fdopen(request, encoding="utf-8") as file:
                file.seek(0)
                wanted: ForkRequest = json.load(file)
            os.fchdir(folder)
            for descriptor in (output, log, folder):
                os.close(descriptor)
            code = _serve(wanted, self._generators)
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else int(left.code is not None)
        except BaseException:  # noqa: BLE001 - it may go no further: below are the parent's calls
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code or 0)


def _stream(descriptor: int, former: TextIO) -> TextIO:
    """A stream to a descriptor, with the number and the ways of another."""
    os.dup2(descriptor, former.fileno())
    return open(
        former.fileno(),
        "w",
        encoding=former.encoding,
        errors=former.errors,
        buffering=1 if former.line_buffering else -1,
        closefd=False,
    )


def _serve(request: ForkRequest, generators: Sequence[random.Random]) -> int:
    from rocketwire.cli import main as command

    os.umask(request["umask"])
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    for each in generators:
        each.seed()
    sys.argv[1:] = request["arguments"]
    return command(request["arguments"])
