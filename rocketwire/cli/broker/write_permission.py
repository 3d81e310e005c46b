"""Taking and giving the permission to write in the routes of a broker's topics, at every name server."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rocketwire.cli.online import ClusterAccess
    from rocketwire.remoting.connection import BlockingConnection


def change(
    endpoint: ClusterAccess, name: str, request: Callable[[BlockingConnection, str], int], *, as_json: bool
) -> int:
    """Send a request about a broker to every name server, and print how many topics it was about; the exit code.

    Raises:
        Unsuccessful: no such broker is registered.
    """
    from rocketwire.cli.attempts import ServerAttempts
    from rocketwire.cli.brokers import check_broker
    from rocketwire.cli.output import count_of, json_line

    attempts = ServerAttempts()
    with endpoint.connected() as cluster:
        check_broker(cluster.info(), name)
        for address in cluster.name_servers:
            with attempts.at(f"name server {address}"):
                topics = request(cluster.name_server(address), name)
                if as_json:
                    json_line({"broker": name, "name_server": str(address), "topics": topics})
                else:
                    print(f"broker {name}: changed at name server {address} for {count_of(topics, 'topic')}")
    return attempts.code()
