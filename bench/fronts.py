"""The two fronts for clients of 5.x under test, each with the broker behind it in one process.

Theory: Apache's proxy runs in LOCAL mode, with its broker in the same JVM and no network between them, which is its
fastest way; so both sides are one process, and its CPU time and memory are those of all the work.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from bench.processes import Server
from bench.sides import HEAP, Apache, Rocketwire, Setup, Side, wait_for_port
from bench.tools import PROXY_VERSION
from rocketwire.remoting.admin.groups import put_group
from rocketwire.remoting.cluster import BlockingCluster
from rocketwire.wire.bodies.group import SubscriptionGroupConfig


class ApacheProxy(Apache):
    """Apache's name server, and its proxy with the broker."""

    name = "Apache 5.5.0, proxy LOCAL"
    version = PROXY_VERSION
    settings: Mapping[str, str] = {}
    _logback_package = "org.apache.rocketmq.logging."
    _jars = "proxy"

    def __init__(self, setup: Setup, root: Path) -> None:
        """As Apache; then wait until the proxy listens.

        Raises ServerFailedError, ArtifactError.
        """
        self.grpc_port, self._remoting_port = setup.ports.name_server(), setup.ports.name_server()
        super().__init__(setup, root)
        try:
            wait_for_port(self.grpc_port, self._broker)
        except BaseException:
            self.stop()
            raise

    def _started(self, root: Path) -> Server:
        settings = {
            "rocketMQClusterName": "DefaultCluster",
            "grpcServerPort": self.grpc_port,
            "remotingListenPort": self._remoting_port,
        }
        (root / "proxy.json").write_text(json.dumps(settings), "utf-8")
        arguments = ["-pm", "local", "-n", self.name_server, "-bc", "broker.conf", "-pc", "proxy.json"]
        return self._jvm(root, "proxy", HEAP, "proxy.ProxyStartup", *arguments)


class RocketwireFront(Rocketwire):
    """`rocketwire serve --grpc`."""

    def _front(self, setup: Setup) -> str:
        self.grpc_port = setup.ports.name_server()
        return f"127.0.0.1:{self.grpc_port}"


FRONTS: Final[Mapping[str, Callable[[Setup, Path], Side]]] = {"apache": ApacheProxy, "rocketwire": RocketwireFront}


def create_group(side: Side, group: str) -> None:
    """Create a consumer group: Apache's proxy does not serve one that is not there. Raises RemotingError."""
    with BlockingCluster(side.name_server) as cluster:
        for broker in cluster.all_brokers().values():
            put_group(broker, SubscriptionGroupConfig(group_name=group))
