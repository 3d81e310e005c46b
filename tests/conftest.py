"""How tests run here: how many examples hypothesis draws, and where files of tests lie.

Machines that are busy with something else must not make a test fail, so no example has a deadline.
`ROCKETWIRE_EXAMPLES` chooses which examples are drawn: `fixed`, the same in each run, so that a failure comes from the
change, and no more than are worth drawing again; `wide`, twice as many of them; `few`, new ones, but a handful a test,
for the time between two edits; otherwise new ones.
"""

import json
import os
import shutil
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, settings

from tests import steady_runs, wide_tests

_EXAMPLES: Final = os.environ.get("ROCKETWIRE_EXAMPLES", "new")
_MOST: Final = {"few": 8, "fixed": 15, "wide": 30}
"""Examples of a property, or runs of a state machine, at most."""

_MEMORY: Final = Path("/dev/shm")
_MEMORY_BYTES: Final = 4 << 30
"""What must be free there: containers often have 64 MiB."""

_DURATIONS: Final = Path(__file__).with_name("durations.json")
"""Seconds by file and function of the unit tests that take long; written by `python -m tools.durations`."""
_UNTRACED_SECONDS: Final = 0.1
"""Coverage is measured without tests that take so long: tracing doubles that, and the others cover what is wanted."""
_COVERED_WHOLE: Final = ("tests/wire/", "tests/store/layout/")
"""What these test must be covered to the last branch."""

_TWIN: Final = os.environ.get("ROCKETWIRE_KERNEL") == "python"
_SANITIZED: Final = "ASAN_OPTIONS" in os.environ

_WIDE_TESTS: Final = Path(__file__).with_name("wide_tests.txt")

settings.register_profile(
    "rocketwire",
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=_EXAMPLES in {"fixed", "wide"},
)
settings.load_profile("rocketwire")


def pytest_configure(config: pytest.Config) -> None:
    """Keep files in memory with `ROCKETWIRE_TEST_FILES=memory`: most tests wait for the disk."""
    config.pluginmanager.register(wide_tests.Marks(_WIDE_TESTS))
    config.pluginmanager.register(steady_runs)
    if os.environ.get("ROCKETWIRE_TEST_FILES") != "memory" or config.option.basetemp is not None:
        return
    if _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free >= _MEMORY_BYTES:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark long and wide tests; do not trace the longest; cap examples and state machines where few are wanted."""
    recorded = json.loads(_DURATIONS.read_bytes())
    for item in items:
        path, _, function = item.nodeid.partition("[")[0].partition("::")
        _mark(item, path, recorded.get(path, {}).get(function))
    most = _MOST.get(_EXAMPLES)
    if most is None:
        return
    for item in items:
        if not isinstance(item, pytest.Function):
            continue
        machine = getattr(item.cls, "settings", None)  # a state machine's test case
        if isinstance(machine, settings):
            item.cls.settings = settings(machine, max_examples=min(machine.max_examples, most))
        elif getattr(item.obj, "is_hypothesis_test", False):
            function = getattr(item.obj, "__func__", item.obj)
            own = function._hypothesis_internal_use_settings
            function._hypothesis_internal_use_settings = settings(own, max_examples=min(own.max_examples, most))


def _mark(item: pytest.Item, path: str, seconds: float | None) -> None:
    """Mark a test as it must be for so many recorded seconds; None: it is short."""
    if seconds is not None:
        item.add_marker("long")
        if seconds >= _UNTRACED_SECONDS and not path.startswith(_COVERED_WHOLE):
            item.add_marker("no_cover")
        if _TWIN or _SANITIZED:
            item.add_marker("wide")  # it runs with the kernel as it is shipped
    elif _TWIN and item.get_closest_marker("hypothesis") is not None:
        item.add_marker("wide")
