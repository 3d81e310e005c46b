"""deploy/kubernetes: the manifests are valid, and their container runs as declared, podman in the kubelet's place."""

from __future__ import annotations

import http.client
import json
import re
from typing import Any, Final

import pytest

from compat_tests.containers import ServerContainer, network, run_command
from compat_tests.manifests import VERSIONS, check, manifests
from compat_tests.server_image import server_image
from rocketwire.compat.brokers.endpoint import running
from rocketwire.compat.brokers.ports import LOOPBACK, free_ports
from rocketwire.compat.environment.artifacts import run

pytestmark = pytest.mark.usefixtures("only_rocketwire")

FILE: Final = "rocketwire.yaml"
NAMESPACE: Final = "shop"


@pytest.mark.parametrize("version", VERSIONS)
def test_the_manifests_are_valid(version: str) -> None:
    check(FILE, version)


def test_what_refers_to_each_other() -> None:
    service, stateful = manifests(FILE)["Service"], manifests(FILE)["StatefulSet"]
    template = stateful["spec"]["template"]
    assert service["spec"]["selector"].items() <= template["metadata"]["labels"].items()
    assert stateful["spec"]["selector"]["matchLabels"] == template["metadata"]["labels"]
    assert stateful["spec"]["serviceName"] == service["metadata"]["name"]
    (container,) = template["spec"]["containers"]
    ports = {each["name"]: each["containerPort"] for each in container["ports"]}
    assert {each["targetPort"]: each["port"] for each in service["spec"]["ports"]} == ports
    claims = [each["metadata"]["name"] for each in stateful["spec"]["volumeClaimTemplates"]]
    assert claims == [each["name"] for each in container["volumeMounts"]]


def test_the_container_runs_as_the_manifest_declares() -> None:
    pod = manifests(FILE)["StatefulSet"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    security = container["securityContext"]
    assert security["readOnlyRootFilesystem"]
    user = f"{pod['securityContext']['runAsUser']}:{pod['securityContext']['runAsGroup']}"
    service = f"rocketwire.{NAMESPACE}.svc"
    namesrv, http_port = free_ports()
    with network() as network_name:
        options = ["--network", network_name, "--network-alias", service, "--read-only", "--user", user]
        options += [f"--cap-drop={each}" for each in security["capabilities"]["drop"]]
        options += ["--security-opt=no-new-privileges", "--publish", f"{LOOPBACK}:{namesrv}:9876"]
        options += ["--publish", f"{LOOPBACK}:{http_port}:5557"]
        server = ServerContainer(server_image(), options=options, variables=variables(container["env"]))
        with running(server):
            for name in ("startupProbe", "readinessProbe", "livenessProbe"):
                assert probe(container[name]["httpGet"]["path"], http_port) == 200
            others = shown("cluster", "show", "--json", "--namesrv", f"{service}:9876", network=network_name)
            own = server.execute("rocketwire", "cluster", "show", "--json", "--namesrv", "127.0.0.1:9876")
    assert others["address"] == f"{service}:10911"
    assert json.loads(own)["address"] == "127.0.0.1:10911", "as for kubectl port-forward"


def variables(listed: list[dict[str, Any]]) -> dict[str, str]:
    """The environment as the kubelet makes it: $(NAME) is the value of an earlier variable."""
    values: dict[str, str] = {}
    for each in listed:
        if "valueFrom" in each:
            assert each["valueFrom"] == {"fieldRef": {"fieldPath": "metadata.namespace"}}
            values[each["name"]] = NAMESPACE
        else:
            values[each["name"]] = re.sub(r"\$\((\w+)\)", lambda found: values[found[1]], each["value"])
    return values


def probe(path: str, port: int) -> int:
    """The status of a probe's answer."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=30)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()


def shown(*command: str, network: str) -> dict[str, Any]:
    """The JSON object that a command prints in another container of the network."""
    reported = run(run_command(server_image(), *command, options=("--network", network, "--no-healthcheck")))
    shown: dict[str, Any] = json.loads(reported)
    return shown
