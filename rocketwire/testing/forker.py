"""Servers as forks of a process that has imported everything: this process's end (`forking.py` is the other one).

A start takes a fraction of what a new interpreter takes, which reads and runs some 600 modules. The first start of a
process makes the parent; all later ones use it, from any thread. A process that is forked from this one makes its own.

What an interpreter reads from its environment at its start belongs to the parent: where that has changed, there is
another parent.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rocketwire.testing.forking import ForkRequest
from rocketwire.testing.running import ROOT, ForkedServer

PROGRAM: Final = (
    "import sys; sys.path.insert(0, sys.argv[1]); from rocketwire.testing.forking import main; "
    "main(int(sys.argv[2]), int(sys.argv[3]))"
)
# What the interpreter, its libraries and this package read once, when they are loaded.
_AT_START: Final = ("PYTHON", "LC_", "LANG", "LD_", "MALLOC_", "GLIBC_", "ROCKETWIRE_KERNEL")
_MOST_PARENTS: Final = 4
_ATTEMPTS: Final = 2
_ANSWER_BYTES: Final = 1024

_Identity = tuple[str, frozenset[tuple[str, str]]]


class NotForked(Exception):
    """No server can be forked here: it has to be started as a separate program."""


class _Parent:
    """A process that forks servers."""

    def __init__(self, program: str) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            descriptor = theirs.fileno()
            self._process = subprocess.Popen(  # noqa: S603 - this very program
                [sys.executable, "-P", "-c", program, str(ROOT), str(descriptor), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[descriptor],
                start_new_session=True,  # Ctrl-C is for the tests
            )
        self._socket = ours

    def fork(self, request: bytes, *, log: int, folder: int, seconds: float) -> ForkedServer:
        """A server.

        Raises:
            NotForked: it answers that it cannot.
            OSError: it has ended, or takes too long.
        """
        with contextlib.ExitStack() as stack:
            reading, writing = os.pipe()
            output = stack.enter_context(open(reading, "rb", buffering=0))  # noqa: PTH123 - a descriptor
            stack.callback(os.close, writing)
            with open(os.memfd_create("request"), "w+b", buffering=0) as file:  # noqa: PTH123
                file.write(request)
                self._socket.settimeout(seconds)
                socket.send_fds(self._socket, [b"\0"], [file.fileno(), writing, log, folder])
            answer, received, _, _ = socket.recv_fds(self._socket, _ANSWER_BYTES, 1, socket.MSG_CMSG_CLOEXEC)
            if not answer:
                raise ConnectionResetError
            if not received:
                raise NotForked(answer.decode())
            stack.pop_all()
            os.close(writing)
            return ForkedServer(int(answer), received[0], output)

    def end(self) -> None:
        """End it. Its servers continue."""
        self.leave()
        self._process.kill()  # it may still be importing, and has nothing to put in order
        self._process.wait()

    def leave(self) -> None:
        """Close this process's end of the connection."""
        self._socket.close()


class Forker:
    """The parents of servers that belong to one process. Threads may share it.

    Args:
        program: Their program; its arguments are the folder of the code, a descriptor, and the owner's process number.
    """

    def __init__(self, program: str = PROGRAM) -> None:
        self._program = program
        self._lock = threading.Lock()
        self._parents: dict[_Identity, _Parent] = {}
        self._is_possible = is_possible()

    def prepare(self) -> None:
        """Start the parent, without waiting for it: it imports while this process does."""
        with contextlib.suppress(NotForked, OSError), self._lock:
            self._parent(_identity())

    def fork(self, arguments: Sequence[str], *, log: int, seconds: float) -> ForkedServer:
        """A server in the present folder and environment.

        Args:
            arguments: Of the command `rocketwire`.
            log: The descriptor of its log.
            seconds: How long the answer may take.

        Raises:
            NotForked: it has to be started as a separate program.
        """
        folder = os.open(".", os.O_PATH | os.O_CLOEXEC)
        try:
            request = ForkRequest(arguments=list(arguments), environment=dict(os.environ), umask=_umask())
            return self._fork(json.dumps(request).encode(), log=log, folder=folder, seconds=seconds)
        finally:
            os.close(folder)

    def _fork(self, request: bytes, *, log: int, folder: int, seconds: float) -> ForkedServer:
        identity = _identity()
        with self._lock:
            for _ in range(_ATTEMPTS):
                parent = self._parent(identity)
                try:
                    return parent.fork(request, log=log, folder=folder, seconds=seconds)
                except NotForked:
                    raise
                except OSError:  # it was killed, for example: another one is started
                    self._forget(identity)
                except BaseException:  # its answer is still to come, and would not be read
                    self._forget(identity)
                    raise
        raise NotForked

    def _parent(self, identity: _Identity) -> _Parent:
        parent = self._parents.get(identity)
        if parent is None:
            if not self._is_possible or len(self._parents) >= _MOST_PARENTS:
                raise NotForked
            parent = self._parents[identity] = _Parent(self._program)
        return parent

    def _forget(self, identity: _Identity) -> None:
        self._parents.pop(identity).end()

    def end(self) -> None:
        """End all parents."""
        with self._lock:
            for identity in list(self._parents):
                self._forget(identity)

    def leave(self) -> None:
        """Have nothing to do with them: they belong to the process that this one was forked from."""
        for each in self._parents.values():
            each.leave()


def is_possible() -> bool:
    """Whether this system has what it takes: Linux, and descriptors of processes."""
    try:
        os.close(os.pidfd_open(os.getpid()))
        signal.pidfd_send_signal  # noqa: B018 - Python was built with it
        os.memfd_create  # noqa: B018
    except (AttributeError, OSError):
        return False
    return True


def _identity() -> _Identity:
    return sys.executable, frozenset(each for each in os.environ.items() if each[0].startswith(_AT_START))


def _umask() -> int:
    """This process's mask. The call that returns it also changes it, for all threads."""
    for line in Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines():
        name, _, value = line.partition(":")
        if name == "Umask":
            return int(value, 8)
    raise NotForked  # an old kernel


class _Own:
    """The forker of this process: another one after a fork."""

    def __init__(self) -> None:
        self.forker = Forker()
        self._left: list[Forker] = []
        atexit.register(self._end)
        os.register_at_fork(after_in_child=self._renew)

    def _end(self) -> None:
        self.forker.end()

    def _renew(self) -> None:
        # Not with the former one's lock either: a thread that is not here may hold it.
        self.forker.leave()
        self._left.append(self.forker)
        self.forker = Forker()


_OWN: Final = _Own()


def own_forker() -> Forker:
    """The forker of this process."""
    return _OWN.forker
