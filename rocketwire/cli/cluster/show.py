"""`rocketwire cluster show`: each broker's address, version, load and disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rocketwire.cli.online import ClusterAccess, online_command

if TYPE_CHECKING:
    from rocketwire.remoting.admin.brokers import RegisteredBroker


@online_command("show", "Example: rocketwire cluster show")
@click.option("--cluster", "cluster_name", metavar="NAME", help="Only this cluster.")
def command(endpoint: ClusterAccess, *, cluster_name: str | None, as_json: bool) -> int:
    """Print the brokers of all clusters, slaves too: address, version, messages a second in and out, disk, up-time.

    The rates are those of the last 10 seconds; the disk is the used part of that of the commit log.
    """
    from rocketwire.cli.attempts import ServerAttempts
    from rocketwire.cli.brokers import check_cluster
    from rocketwire.cli.errors import CommandFailed
    from rocketwire.cli.output import json_line
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
    if as_json:
        for row in rows:
            json_line(row)
    else:
        _write(rows)
    return attempts.code()


def _row(broker: RegisteredBroker, info: dict[str, str]) -> dict[str, Any]:
    """A broker; what it does not tell is None."""
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


def _write(rows: list[dict[str, Any]]) -> None:
    from rocketwire.cli.table import TableColumn, print_table

    columns = (
        *(TableColumn("CLUSTER", least=10, spare=2), TableColumn("BROKER", least=10), TableColumn("ID", right=True)),
        *(TableColumn("ADDRESS", least=15), TableColumn("VERSION", spare=1), TableColumn("IN/S", right=True)),
        *(TableColumn("OUT/S", right=True), TableColumn("DISK", right=True), TableColumn("UP", right=True)),
    )
    print_table(
        columns,
        [
            (
                *(row["cluster"], row["broker"], str(row["broker_id"]), row["address"], row["version"] or "?"),
                *("?" if row[name] is None else f"{row[name]:.1f}" for name in ("in_tps", "out_tps")),
                "?" if row["disk_used"] is None else f"{row['disk_used']:.0%}",
                "?" if row["uptime_seconds"] is None else _duration(row["uptime_seconds"]),
            )
            for row in rows
        ],
    )


def _duration(seconds: int) -> str:
    """Seconds as `3d 4h`, `4h 5m` or `5m 6s`."""
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days}d {hours}h"
    return f"{hours}h {minutes}m" if hours else f"{minutes}m {seconds}s"
