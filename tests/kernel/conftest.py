"""Tests of the C kernel itself: where it was not built they fail; where its twin is wanted there is nothing to test."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rocketwire import native
from rocketwire.wire.connection import RawFrame
from tests.kernel.net.hub_support import Session
from tests.kernel.pull.pulls_support import Twins
from tests.store.support import close_stores, draft, open_store, small, store
from tools.build_kernel import PRODUCT, ROOT, newer_source

__all__ = ["close_stores", "store"]

if os.environ.get("ROCKETWIRE_KERNEL") == "python":
    collect_ignore_glob = ["*test_*.py"]  # in whatever room
elif native.kernel is None:
    raise pytest.UsageError("the kernel is not built: python -m tools.build_kernel, or set ROCKETWIRE_KERNEL=python")
else:
    newer = newer_source(ROOT / PRODUCT) if Path(str(native.kernel.__file__)).resolve() == ROOT / PRODUCT else None
    if newer is not None:  # it may answer nevertheless, but as it did before
        raise pytest.UsageError(f"the kernel is older than {newer.relative_to(ROOT)}: run python -m tools.build_kernel")
    if not hasattr(native.kernel, "Hub"):  # it needs Linux
        collect_ignore_glob = ["net/test_hub*.py", "log/test_ahead.py", "relay/test_*.py"]


@pytest.fixture
def twins(tmp_path: Path) -> Twins:
    """Ten messages in the queue 0 of T, with three alternating tags; of `PopEmulation` and its twin."""
    twins = Twins(open_store(small(tmp_path, commit_log_file_size=1 << 20, consume_queue_file_size=20_000)))
    twins.store.append([draft(number) for number in range(10)])
    return twins


@pytest.fixture
def hub() -> Iterator[Any]:
    """A hub that gives all frames to Python."""
    kernel = native.kernel
    assert kernel is not None
    made = kernel.Hub(None, None, RawFrame, int)
    yield made
    made.close()


@pytest.fixture
def sessions(hub: Any) -> Iterator[Callable[[], Session]]:
    """Makes sessions that the hub reads for."""
    made: list[Session] = []

    def session() -> Session:
        made.append(Session(hub))
        return made[-1]

    yield session
    for each in made:
        each.channel.close()
        each.near.close()
        each.far.close()


@pytest.fixture
def session(sessions: Callable[[], Session]) -> Session:
    """One of them."""
    return sessions()
