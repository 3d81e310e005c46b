"""The plugin of pytest: fixtures `rocketmq`, `rocketmq_session` and `rocketmq_trio`.

pytest imports this module in every run where rocketwire is installed: so it imports nothing that only a test needs.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rocketwire.testing import AsyncEndpoint, Endpoint
    from rocketwire.testing.block import EndpointBlock

MARKER = "rocketmq"
_FIXTURES = ("rocketmq", "rocketmq_session", "rocketmq_trio")
_LOG_LINES = 200


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("rocketmq", "RocketMQ endpoints for tests (rocketwire)")
    group.addoption(
        "--rocketmq-set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="A key of broker.conf for the endpoints of fixtures; repeatable.",
    )
    parser.addini(
        "rocketmq_settings", "Keys of broker.conf for the endpoints of fixtures: KEY=VALUE, one a line.", "linelist"
    )
    parser.addini("rocketmq_acl", "A plain_acl.yml: the endpoints of fixtures check accounts.")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(settings, topics, faults, acl, ...): arguments of rocketwire.testing.endpoint "
        "for the fixtures rocketmq and rocketmq_trio of this test",
    )


@pytest.fixture
def rocketmq(request: pytest.FixtureRequest) -> Iterator[Endpoint]:
    """A fresh endpoint, in a separate process, for this test alone."""
    with _block(request) as made:
        yield made


@pytest.fixture(scope="session")
def rocketmq_session(request: pytest.FixtureRequest) -> Iterator[Endpoint]:
    """One endpoint for all tests of this process: they use separate topics and groups, by `topic()`, `group()`."""
    with _block(request) as made:
        yield made


@pytest.fixture
async def rocketmq_trio(request: pytest.FixtureRequest) -> AsyncIterator[AsyncEndpoint]:
    """A fresh endpoint for a test of pytest-trio."""
    async with _block(request) as made:
        yield made


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the endpoint's log with a test that failed."""
    report = yield
    if report.failed:
        for name in _FIXTURES:
            used = getattr(item, "funcargs", {}).get(name)
            if used is not None:
                lines = used.log.splitlines()[-_LOG_LINES:]
                report.sections.append((f"Log of the endpoint ({name})", "\n".join(lines)))
    return report


def _block(request: pytest.FixtureRequest) -> EndpointBlock:
    from rocketwire.testing import endpoint

    config = request.config
    settings = dict(
        _assignment(each) for each in (*config.getini("rocketmq_settings"), *config.getoption("rocketmq_set"))
    )
    arguments: dict[str, Any] = {}
    if request.scope == "function":
        marker = request.node.get_closest_marker(MARKER)
        arguments = {} if marker is None else dict(marker.kwargs)
        if marker is not None and marker.args:
            raise pytest.UsageError(f"{request.node.nodeid}: the marker {MARKER} takes arguments by name only")
    if config.getini("rocketmq_acl"):
        arguments.setdefault("acl", config.rootpath / config.getini("rocketmq_acl"))
    return endpoint(**{**arguments, "settings": {**settings, **arguments.get("settings", {})}})


def _assignment(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise pytest.UsageError(f"{text!r}: expected KEY=VALUE, a key of broker.conf")
    return key.strip(), value.strip()
