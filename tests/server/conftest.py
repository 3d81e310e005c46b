from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rocketwire import native
from rocketwire.server.net.hub import Hub
from rocketwire.server.net.session import Session
from tests.server.harness import Client, Server, instances, run, serving
from tests.server.send_setup import Setup

HERE = Path(__file__).parent

if native.kernel is None:
    # A twin in Python does not exist.
    folders = ("pull", "retry", "send", "transactions")
    collect_ignore = [*(f"{folder}/test_kernel.py" for folder in folders), "net/test_hub.py"]
elif not hasattr(native.kernel, "Hub"):  # it needs Linux
    collect_ignore = ["net/test_hub.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run all async tests of this folder on a mock clock, whether or not they name it."""
    for item in items:
        if HERE in item.path.parents and inspect.iscoroutinefunction(getattr(item, "function", None)):
            item.add_marker(pytest.mark.trio(run=run))


@pytest.fixture(autouse=True, scope="session")
def collector_left_alone() -> Iterator[None]:
    """The server tunes the garbage collector of its process: in tests it must not."""
    patch = pytest.MonkeyPatch()
    nothing = SimpleNamespace(freeze=lambda: None, set_threshold=lambda *_: None, enable=lambda: None)
    patch.setattr("rocketwire.server.run.gc", nothing)
    yield
    patch.undo()


@pytest.fixture(params=["hub", "task"] if hasattr(native.kernel, "Hub") else ["task"])
def driver(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The drivers of connections: the kernel's hub, if there is one, and a task for each connection."""
    driver: str = request.param
    if driver == "task":
        monkeypatch.setattr("rocketwire.server.net.hub.native", SimpleNamespace(kernel=None))
    return driver


@pytest.fixture
def sends_by_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have Python serve sends, not the kernel; to be requested before `server`."""
    real = Hub.__init__

    def without(self: Hub, *args: Any, **options: Any) -> None:
        real(self, *args, **{**options, "sends": None})

    monkeypatch.setattr(Hub, "__init__", without)


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    async with serving(tmp_path / "store") as running:
        yield running


@pytest.fixture
async def broker(server: Server) -> Client:
    """A connection to a broker that has the topic T with two queues."""
    client = server.broker()
    await client.create_topic("T", 2)
    return client


@pytest.fixture
async def name_server(server: Server) -> Client:
    return server.name_server()


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> list[Session]:
    """All sessions made in the test, in their order; to be requested before `server`."""
    return instances(monkeypatch, Session)


@pytest.fixture
def setup(tmp_path: Path) -> Iterator[Setup]:
    """Sends over a store, without a server."""
    made = Setup(tmp_path)
    yield made
    made.store.close()
