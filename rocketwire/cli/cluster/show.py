"""`rocketwire cluster show`: each broker's address, version, load and disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rocketwire.cli.attempts import ServerAttempts
from rocketwire.cli.brokers import check_cluster
from rocketwire.cli.errors import CommandFailed
from rocketwire.cli.online import ClusterAccess, online_command
from rocketwire.cli.table import TableColumn, print_rows

if TYPE_CHECKING:
    from rocketwire.remoting.admin.brokers import RegisteredBroker


T = TypeVar("T")


@online_command("show", "Example: rocketwire cluster show")
@click.option("--cluster", "cluster_name", metavar="NAME", help="Only this cluster.")
def command(endpoint: ClusterAccess, *, cluster_name: str | None, as_json: bool) -> int:
    """Print the brokers of all clusters, slaves too: address, version, messages a second in and out, disk, up-time.

    The rates are those of the last 10 seconds; the disk is the used part of that of the commit log.
    """
    from rocketwire.remoting.admin.brokers import registered_brokers, runtime_info

    attempts = ServerAttempts()
    rows: list[dict[str, Any]] = []
    with endpoint.connected() as cluster:
        info = cluster.info()
        check_cluster(info, cluster_name)
        brokers = [each for each in registered_brokers(info) if cluster_name in (None, each.cluster)]
        if not brokers:
            raise CommandFailed("no broker is registered")
        for broker in brokers:
            found: dict[str, str] = {}
            with attempts.at(f"broker {broker.name}"):
                found = runtime_info(cluster.connection(broker.address))
            rows.append(_row(broker, found))
    columns = (
        TableColumn("CLUSTER", of="cluster", least=10, spare=2),
        TableColumn("BROKER", of="broker", least=10),
        TableColumn("ID", of="broker_id", right=True),
        TableColumn("ADDRESS", of="address", least=15),
        TableColumn("VERSION", of=lambda row: row["version"] or "?", spare=1),
        TableColumn("IN/S", of=lambda row: _known(row["in_tps"], "{:.1f}".format), right=True),
        TableColumn("OUT/S", of=lambda row: _known(row["out_tps"], "{:.1f}".format), right=True),
        TableColumn("DISK", of=lambda row: _known(row["disk_used"], "{:.0%}".format), right=True),
        TableColumn("UP", of=lambda row: _known(row["uptime_seconds"], _duration), right=True),
    )
    print_rows(rows, columns, as_json=as_json)
    return attempts.code()


def _row(broker: RegisteredBroker, info: dict[str, str]) -> dict[str, Any]:
    """A broker; a figure that it does not report is None."""
    from rocketwire.server.core.clocks.clock import system_clock

    started = info.get("bootTimestamp")
    disk = info.get("commitLogDiskRatio")
    return {
        "cluster": broker.cluster,
        "broker": broker.name,
        "broker_id": broker.broker_id,
        "address": broker.address,
        "version": info.get("brokerVersionDesc"),
        "in_tps": _first(info.get("putTps")),
        "out_tps": _first(info.get("getTransferedTps") or info.get("getTransferredTps")),
        "disk_used": None if disk is None else float(disk),
        "started": None if started is None else int(started),
        "uptime_seconds": None if started is None else max(0, system_clock() - int(started)) // 1000,
    }


def _first(rates: str | None) -> float | None:
    """The first of some rates: that of the last 10 s."""
    numbers = (rates or "").split()
    return float(numbers[0]) if numbers else None


def _known(value: T | None, text: Callable[[T], str]) -> str:
    return "?" if value is None else text(value)


def _duration(seconds: int) -> str:
    """Seconds as `3d 4h`, `4h 5m` or `5m 6s`."""
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days}d {hours}h"
    return f"{hours}h {minutes}m" if hours else f"{minutes}m {seconds}s"
