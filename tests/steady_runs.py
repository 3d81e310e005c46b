"""A plugin of pytest for both suites: a run is the same however it was started, and does not wait for nothing."""

from __future__ import annotations

import gc
import signal
import socket
from collections.abc import Generator

import pytest


def pytest_configure() -> None:
    """Take SIGINT where the shell that started this ignores it (`make test &`): tests interrupt what they start."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Send requests to pytest-rerunfailures' server at once: with Nagle's delay they take 13 ms a test."""
    sock = getattr(getattr(session.config, "failures_db", None), "sock", None)
    if sock is not None:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without the garbage collector; from then on it skips what was imported."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
