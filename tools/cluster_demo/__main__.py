"""`make cluster-demo`: a cluster with two proxies in front; one of each kind is killed, and no message is lost.

    python -m tools.cluster_demo [--seconds N] [--no-kills] [--json]

Two name servers, three brokers and two proxies run as processes on this machine. Clients, which know the proxies only,
send and receive all the time. A broker, a proxy and a name server are killed (kill -9) and started again, one after
the other. At the end stands the account of every message; the exit code is 0 only if none that was acknowledged is
lost. Ctrl-C ends all at once. Neither processes nor files remain.
"""

from __future__ import annotations

import json
import logging
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import click
import trio

from tools.cluster_demo.servers import DemoFailed, Server, Servers, planned
from tools.cluster_demo.traffic import Account, Traffic, longest_pause
from tools.cluster_demo.view import Figures, View, viewing

_INTERRUPTED: Final = 130
_MEASURED_SECONDS: Final = 8.0
"""How long after a kill pauses are looked for, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Killed:
    """A server that was killed.

    Attributes:
        server: Its name.
        sends_paused: The longest time without an acknowledgement after the kill, in seconds.
        receives_paused: The longest time without a message received, in seconds.
    """

    server: str
    sends_paused: float
    receives_paused: float


class Demonstration:
    """One run."""

    def __init__(self, servers: Servers, view: View, seconds: float) -> None:
        self._servers = servers
        self._view = view
        self._seconds = seconds
        self._began = time.monotonic()
        self._traffic = Traffic(
            [each.address for each in servers.proxies],
            brokers=len(servers.brokers),
        )
        self.kills: list[Killed] = []

    async def run(self, *, kills: bool) -> Account:
        """Start the servers, have traffic, kill, and count; all servers are ended at the end.

        Raises:
            DemoFailed: a server does not start.
        """
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._show)
                self._print_event("starting two name servers, three brokers and two proxies")
                await self._servers.start()
                self._print_event("all are ready")
                async with self._traffic.running():
                    if kills:
                        await self._kill_each()
                    else:
                        await trio.sleep(self._seconds)
                    self._print_event("no more messages are begun; those on their way are awaited")
                nursery.cancel_scope.cancel()
        finally:
            await self._servers.stop()
        return self._traffic.account()

    async def _kill_each(self) -> None:
        """Kill one of each kind, and start it again on the same port and store."""
        victims = [self._servers.brokers[0], self._servers.proxies[0], self._servers.name_servers[0]]
        step = self._seconds / (2 * len(victims) + 1)
        for each in victims:
            await trio.sleep(step)
            await self._kill(each, min(step, _MEASURED_SECONDS))
            await trio.sleep(max(0.0, step - _MEASURED_SECONDS))
            await each.start()
            self._print_event(f"{each.name} is back")
        await trio.sleep(step)

    async def _kill(self, server: Server, seconds: float) -> None:
        """Kill a server and see for so many seconds what that does to the traffic."""
        since = time.monotonic()
        await server.kill()
        self._print_event(f"kill -9 {server.name}")
        await trio.sleep(seconds)
        now = time.monotonic()
        killed = Killed(
            server=server.name,
            sends_paused=round(longest_pause(self._traffic.sent_at, since, now), 3),
            receives_paused=round(longest_pause(self._traffic.received_at, since, now), 3),
        )
        self.kills.append(killed)
        self._print_event(
            f"without {server.name}: sends paused {killed.sends_paused:.2f} s, receives {killed.receives_paused:.2f} s"
        )

    async def _show(self) -> None:
        sent = received = 0
        while True:
            traffic = self._traffic
            figures = Figures(
                seconds=self._now(),
                sends=len(traffic.sent_at) - sent,
                receives=len(traffic.received_at) - received,
                failed=traffic.failed_sends,
                lag=traffic.lag,
                acknowledged=len(traffic.sent_at),
            )
            sent, received = len(traffic.sent_at), len(traffic.received_at)
            self._view.show(self._servers.all(), figures)
            await trio.sleep(1.0)

    def _print_event(self, text: str) -> None:
        self._view.event(self._now(), text)

    def _now(self) -> float:
        return time.monotonic() - self._began


def _printed(account: Account, kills: Sequence[Killed]) -> None:
    others = account.given_twice - account.stored_twice
    print(f"sent and acknowledged  {account.acknowledged:8,}")
    print(f"received               {account.received:8,}")
    print(f"lost                   {account.lost:8,}")
    print(f"given twice            {account.given_twice:8,}", end="")
    print(f"   ({account.stored_twice} were sent again, of {others} the offset was not committed yet)")
    print(f"failed sends, retried  {account.failed_sends:8,}")
    for each in kills:
        print(
            f"kill -9 of {each.server}: sends paused {each.sends_paused:.2f} s, receives {each.receives_paused:.2f} s"
        )


async def _until_stopped(seconds: float, *, kills: bool, as_json: bool) -> int:
    """Run it, until a signal ends it."""
    code = _INTERRUPTED
    with (
        tempfile.TemporaryDirectory(prefix="rocketwire-demo-") as folder,
        trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals,
    ):
        servers = planned(Path(folder))
        async with trio.open_nursery() as nursery:

            async def stop_at_a_signal() -> None:
                async for _ in signals:
                    nursery.cancel_scope.cancel()
                    await servers.stop()  # at once, so that the clients do not wait for answers to their linger_budget

            nursery.start_soon(stop_at_a_signal)
            with viewing(silent=as_json) as view:
                demonstration = Demonstration(servers, view, seconds)
                account = await demonstration.run(kills=kills)
            code = 0 if account.acknowledged and not account.lost else 1
            if as_json:
                print(json.dumps({**asdict(account), "kills": [asdict(each) for each in demonstration.kills]}))
            else:
                _printed(account, demonstration.kills)
            nursery.cancel_scope.cancel()
    return code


def _first(errors: BaseException) -> BaseException:
    """The first of the errors of several tasks."""
    while isinstance(errors, BaseExceptionGroup):
        errors = errors.exceptions[0]
    return errors


@click.command(help="Run a cluster with two proxies in front, kill one of each kind, and count the messages.")
@click.option(
    "--seconds", type=click.FloatRange(min=1), default=42.0, show_default=True, help="How long messages are sent."
)
@click.option("--no-kills", is_flag=True, help="Kill nothing: only the traffic.")
@click.option("--json", "as_json", is_flag=True, help="Print the account as one JSON object, and nothing else.")
def main(*, seconds: float, no_kills: bool, as_json: bool) -> None:
    """Run the demonstration; the exit code is 0 if every acknowledged message came."""
    logging.getLogger("rocketwire").addHandler(logging.NullHandler())  # the view shows what the clients would log
    logging.getLogger("rocketwire").propagate = False
    code = 0
    try:
        code = trio.run(lambda: _until_stopped(seconds, kills=not no_kills, as_json=as_json))
    except* DemoFailed as errors:
        print(f"cluster-demo: {_first(errors)}", file=sys.stderr)
        code = 1
    sys.exit(code)


if __name__ == "__main__":
    main()
