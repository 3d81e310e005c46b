"""The image: what it is, whom it serves, how it is set up and how it ends."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, Final

import pytest

from compat_tests.containers import PODMAN, ServerContainer, network, run_command, volume
from compat_tests.server_image import server_image
from rocketwire.compat.brokers.endpoint import running
from rocketwire.compat.brokers.ports import free_ports
from rocketwire.compat.clients.client import Client, Clients
from rocketwire.compat.environment.artifacts import ArtifactError, run
from rocketwire.compat.messages import Outgoing, assert_each_once

pytestmark = pytest.mark.usefixtures("only_rocketwire")

MOST_BYTES: Final = 120_000_000
NAME: Final = "rocketwire"
_STATUS: Final = "print(open('/proc/1/status').read())"


class Published:
    """A container in a separate network, with a volume, whose ports are published on this machine."""

    def __init__(self, network_name: str, volume_name: str) -> None:
        self.image = server_image()
        self.network = network_name
        self.namesrv, self.broker = (f"127.0.0.1:{port}" for port in free_ports())
        self.container = ServerContainer(
            self.image,
            options=(
                *("--network", network_name, "--network-alias", NAME, "--volume", f"{volume_name}:/data"),
                *("--publish", f"{self.namesrv}:9876", "--publish", f"{self.broker}:10911"),
            ),
            variables={
                "ROCKETWIRE_SERVE_ADVERTISE": f"neighbours,{self.broker}",
                "ROCKETWIRE_SET_brokerName": "in-a-container",
                "ROCKETWIRE_SET_regionId": "",
            },
        )

    def sibling(self, *command: str) -> str:
        """What a command line prints in another container of the network."""
        return run(run_command(self.image, *command, options=("--network", self.network, "--no-healthcheck")))


@pytest.fixture(scope="module")
def published() -> Iterator[Published]:
    with network() as network_name, volume() as volume_name:
        made = Published(network_name, volume_name)
        with running(made.container):
            yield made


def brokers(printed: str) -> dict[str, str]:
    """Name and address of each broker that `cluster show --json` prints."""
    return {each["broker"]: each["address"] for each in map(json.loads, printed.splitlines())}


def test_the_metadata_of_the_image() -> None:
    (found,) = json.loads(run(["podman", "image", "inspect", server_image()]))
    config: dict[str, Any] = found["Config"]
    assert found["Size"] <= MOST_BYTES
    assert config["User"] == "10001:10001"
    assert config["Volumes"].keys() == {"/data"}
    assert config["ExposedPorts"].keys() == {"9876/tcp", "10911/tcp", "10909/tcp", "8081/tcp", "5557/tcp"}
    assert config["StopSignal"] == "SIGTERM"
    assert (config.get("Healthcheck") or found["Healthcheck"])["Test"] == ["CMD", "python3", "-m", "rocketwire.health"]


def test_it_runs_as_a_user_without_rights_and_is_healthy(published: Published) -> None:
    container = published.container
    status = dict(line.partition(":\t")[::2] for line in container.execute("python3", "-c", _STATUS).splitlines())
    assert status["Uid"].split("\t") == ["10001"] * 4
    assert container.healthy()
    assert "(kernel: native)" in container.execute("rocketwire", "--version")
    with pytest.raises(ArtifactError, match=r"Read-only|Permission denied"):
        container.execute("sh", "-c", ">/opt/rocketwire/made")


def test_clients_on_the_host_and_in_siblings_get_addresses_that_they_reach(
    published: Published, clients: Clients
) -> None:
    client = Client(clients=clients, id="java-4.9.7", namesrv=published.namesrv)
    client.run("CreateTopic", topic="Shared", queues=2)
    messages = [Outgoing(body=f"from the host {i}") for i in range(3)]
    client.run("SendSync", topic="Shared", message=messages)
    published.sibling("message", "send", "Shared", "from a sibling", "--namesrv", f"{NAME}:9876")

    everything = [*messages, Outgoing(body="from a sibling")]
    received = client.only("received", "PushConcurrent", topic="Shared", group="host", count=len(everything))
    assert_each_once(received, everything)

    from_host = brokers(run_here("cluster", "show", "--json", "--namesrv", published.namesrv))
    from_sibling = brokers(published.sibling("cluster", "show", "--json", "--namesrv", f"{NAME}:9876"))
    assert from_host == {"in-a-container": published.broker}
    addresses = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}"
    own = run([*PODMAN, "inspect", "--format", addresses, published.container.name]).strip()
    assert from_sibling == {"in-a-container": f"{own}:10911"}


def run_here(*command: str) -> str:
    """What a command line prints on this machine."""
    return run([sys.executable, "-m", "rocketwire", *command])


def test_the_volume_keeps_the_store(published: Published, clients: Clients) -> None:
    client = Client(clients=clients, id="java-4.9.7", namesrv=published.namesrv)
    client.run("CreateTopic", topic="Kept", queues=1)
    client.run("SendSync", topic="Kept", message=[Outgoing(body="kept")])
    published.container.stop()  # which checks that its exit code is 0
    published.container.start()
    received = client.only("received", "PushConcurrent", topic="Kept", group="kept", count=1)
    assert_each_once(received, [Outgoing(body="kept")])


@pytest.mark.parametrize(
    ("variable", "line"),
    [
        ("ROCKETWIRE_SET_flushDiskTyp=SYNC_FLUSH", "unknown key; did you mean flushDiskType?"),
        (
            "ROCKETWIRE_SERVE_NAMESVR=0.0.0.0:9876",
            "no option has this variable; did you mean ROCKETWIRE_SERVE_NAMESRV?",
        ),
    ],
)
def test_a_wrong_variable_ends_the_container(variable: str, line: str) -> None:
    command = run_command(server_image(), options=("--env", variable, "--network", "none", "--no-healthcheck"))
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    name = variable.partition("=")[0]
    assert (done.returncode, done.stdout) == (2, "")
    assert f"rocketwire: {name}: {line}\n" in done.stderr
