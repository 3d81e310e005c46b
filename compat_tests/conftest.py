"""Options and fixtures of the compatibility tests: `--target` is what they test, `--clients` where the clients run."""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from compat_tests import cases, readme
from compat_tests.endpoints import AGED, GENEROUS, GRPC_TARGETS, SWIFT, TARGETS, Rocketwire
from compat_tests.programs import Programs, find_programs
from rocketwire.compat.brokers.apache import ApacheNameServer
from rocketwire.compat.brokers.endpoint import ApacheProxy, Endpoint, running
from rocketwire.compat.brokers.ports import LOOPBACK, free_ports
from rocketwire.compat.clients.client import Client, Clients
from rocketwire.compat.environment import cache
from rocketwire.compat.environment.artifacts import CLIENT_VERSIONS
from rocketwire.compat.scenario import Scenario, modules
from tests import steady_runs, wide_tests

_PROGRAMS = pytest.StashKey[Programs]()
_SPARK: Final = Path(__file__).parent / "spark"
_WIDE: Final = Path(__file__).with_name("wide_tests.txt")

#: The files that take most of the time, longest first. A worker that came to one of them last would keep the other one
#: waiting. That of the README comes behind that of the fresh machine, since both need the README's ports.
_LONG: Final = (
    "test_fresh_machine",
    "test_store_round_trip",
    "test_python_client",
    "test_admin_commands",
    "test_message_commands",
    "test_acl",
    "test_catalogue_clients",
    "test_proxy_kills",
    "test_file_formats",
    "test_exactly_once",
    "test_java_library",
    "test_lifetime",
    "test_mqadmin",
    "test_catalogue_grpc",
    "test_deploy_container",
    "test_readme",
    "test_looking_into_a_store",
    "test_offsets",
    "test_catalogue_groups",
    "test_timer_round_trip",
    "test_catalogue_consume",
    "test_compat_report",
    "test_store_repair",
    "test_removal",
    "test_catalogue_later",
    "test_catalogue_finding",
    "test_transactions",
    "test_killed_server",
    "test_header_variants",
    "test_store_verify",
    "test_compat_run",
    "test_record",
    "test_online",
)


for _module in modules():
    pytest.register_assert_rewrite(_module)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --target and --clients."""
    parser.addoption(
        "--target",
        choices=sorted(TARGETS),
        default="rocketwire",
        help="the endpoint that the clients talk to",
    )
    parser.addoption(
        "--clients", choices=("auto", "container", "host"), default="auto", help="where the Java clients run"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Mark what `make test` leaves to `make test-all`."""
    config.pluginmanager.register(wide_tests.Marks(_WIDE))
    config.pluginmanager.register(steady_runs)


@pytest.hookimpl(trylast=True)  # behind pytest-randomly
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest; `--no-loadscope-reorder` lets xdist keep this order."""
    places = {name: place for place, name in enumerate(_LONG)}
    items.sort(key=lambda item: places.get(item.path.stem, len(places)))


def programs_of(config: pytest.Config) -> Programs:
    """Where the Java clients run, decided once in a session."""
    if _PROGRAMS not in config.stash:
        config.stash[_PROGRAMS] = find_programs(config.getoption("--clients"))
    return config.stash[_PROGRAMS]


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Print the target and where the clients run: a run without containers must show. Spark's tests need none."""
    chosen = (config.invocation_params.dir / argument.partition("::")[0] for argument in config.args)
    needless = config.option.collectonly or all(path.is_relative_to(_SPARK) for path in chosen)
    where = "not needed" if needless else programs_of(config).description
    return [f"endpoint: {config.getoption('--target')}", f"Java clients: {where}"]


@pytest.fixture(scope="session")
def programs(request: pytest.FixtureRequest) -> Programs:
    """The Java programs and how to start one."""
    return programs_of(request.config)


@pytest.fixture(scope="session")
def clients(programs: Programs) -> Iterator[Clients]:
    """The session's client JVMs."""
    with Clients(programs) as started:
        yield started


@pytest.fixture(scope="module")
def name_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheNameServer]:
    """The name server that Apache's brokers on shared stores register with."""
    server = ApacheNameServer(tmp_path_factory.mktemp("namesrv"), address=f"{LOOPBACK}:{free_ports()[0]}")
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def target(request: pytest.FixtureRequest) -> str:
    """The kind of endpoint under test."""
    name: str = request.config.getoption("--target")
    return name


@pytest.fixture(scope="session")
def only_rocketwire(target: str) -> None:
    """For a test of a feature that Apache's broker does not have."""
    if target != "rocketwire":
        pytest.skip(f"{target} has no such option")


@pytest.fixture
def fixed_ports() -> Iterator[None]:
    """The ports of the README, for this test alone: others of this run wait for them."""
    with cache.locked("fixed-ports"):
        for port in readme.PORTS:
            with socket.socket() as probe:
                assert probe.connect_ex((LOOPBACK, port)) != 0, f"port {port}, which the README uses, is taken"
        yield


@contextlib.contextmanager
def started(target: str, settings: Mapping[str, str] | None = None) -> Iterator[Endpoint]:
    """An endpoint of a kind, with these settings."""
    folder = tempfile.TemporaryDirectory(prefix="compat-")
    with folder as name, running(TARGETS[target](Path(name), settings=settings)) as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def endpoint(target: str) -> Iterator[Endpoint]:
    """The endpoint that most tests share; a test uses separate topics and groups."""
    with started(target) as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def swift(target: str) -> Iterator[Endpoint]:
    """A shared endpoint whose delays, retries and transactions take seconds."""
    with started(target, SWIFT) as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def swift_grpc(target: str) -> Iterator[Rocketwire | ApacheProxy]:
    """An endpoint for clients of 5.x, with the times of `swift`."""
    if target not in GRPC_TARGETS:
        pytest.skip(f"{target} has nothing for clients of 5.x")
    with (
        tempfile.TemporaryDirectory(prefix="compat-") as name,
        running(GRPC_TARGETS[target](Path(name), settings=SWIFT)) as started,
    ):
        yield started


@pytest.fixture(scope="module")
def aged(target: str) -> Iterator[Endpoint]:
    """An endpoint that treats every message as old, that is, no longer in memory."""
    with started(target, AGED) as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def generous(target: str) -> Iterator[Endpoint]:
    """An endpoint that answers a pull with up to the most messages that a client may request."""
    with started(target, GENEROUS) as endpoint:
        yield endpoint


@pytest.fixture
def own_endpoint(target: str, tmp_path: Path) -> Iterator[Endpoint]:
    """An endpoint that the test may stop and start."""
    with running(TARGETS[target](tmp_path / "endpoint")) as started:
        yield started


@pytest.fixture(params=CLIENT_VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    """Each client version."""
    number: str = request.param
    return number


@pytest.fixture
def client(clients: Clients, endpoint: Endpoint, version: str) -> Client:
    """Each official client, at the shared endpoint."""
    return Client(clients=clients, id=f"java-{version}", namesrv=endpoint.namesrv)


@pytest.fixture
def swift_client(clients: Clients, swift: Endpoint) -> Client:
    """The 4.9.7 client at the endpoint with short times."""
    return Client(clients=clients, id="java-4.9.7", namesrv=swift.namesrv)


@pytest.fixture(scope="session")
def unique() -> Callable[[str], str]:
    """A name for a topic or a group that no other test has."""
    counter = itertools.count()
    return lambda name: f"{name}_{os.getpid()}_{next(counter)}"


@pytest.fixture
def group(unique: Callable[[str], str]) -> str:
    """A consumer group of the test's own."""
    return unique("group")


@pytest.fixture
def topic(client: Client, unique: Callable[[str], str]) -> str:
    """A topic of the test's own with four queues, made by the client under test."""
    name = unique("Topic")
    client.run("CreateTopic", topic=name, queues=4)
    return name


@pytest.fixture(scope="module")
def clients_with(programs: Programs, clients: Clients) -> Iterator[Callable[[Mapping[str, str]], Clients]]:
    """Clients whose processes have some variables."""
    started: dict[frozenset[tuple[str, str]], Clients] = {}
    with contextlib.ExitStack() as stack:

        def found(env: Mapping[str, str]) -> Clients:
            key = frozenset(env.items())
            if env and key not in started:
                started[key] = stack.enter_context(Clients(programs, env))
            return started.get(key, clients)

        yield found


@pytest.fixture
def run_scenario(
    request: pytest.FixtureRequest,
    clients_with: Callable[[Mapping[str, str]], Clients],
    unique: Callable[[str], str],
) -> Callable[[Scenario, str], None]:
    """Run a scenario of the catalogue with the client of an id, at an endpoint with what it needs."""

    def run(scenario: Scenario, client: str) -> None:
        started: Endpoint = request.getfixturevalue(cases.endpoint_of(scenario))
        clients = clients_with(scenario.environment)
        cases.check(scenario, client, clients=clients, endpoint=started, prefix=unique("catalogue"))

    return run
