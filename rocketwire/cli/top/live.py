"""The live view: a thread takes samples, keys and new samples redraw the screen."""

from __future__ import annotations

import sys
import threading
import time
from typing import Final

from rich.console import Console
from rich.live import Live

from rocketwire.cli.online import ClusterAccess
from rocketwire.cli.terminal import drawing
from rocketwire.cli.top.keyboard import Keyboard, keyboard
from rocketwire.cli.top.sample import ClusterSample, Sampler
from rocketwire.cli.top.screen import GROUPS, TOPICS, ScreenState, rendered
from rocketwire.cli.top.traffic import ClusterTraffic
from rocketwire.remoting.errors import RemotingError

_SHARE: Final = 0.1
"""The part of the time in which brokers may be asked: slow ones are asked less often."""


class _Sampling(threading.Thread):
    """Takes a sample each interval; `wanted` names the topic and the group that it must have."""

    def __init__(self, sampler: Sampler, interval: float, keys: Keyboard) -> None:
        super().__init__(name="samples", daemon=True)
        self.wanted: tuple[str | None, str | None] = (None, None)
        self._sampler = sampler
        self._interval = interval
        self._keys = keys
        self._lock = threading.Lock()
        self._latest: ClusterSample | str | None = None

    def latest(self) -> ClusterSample | str | None:
        """The newest sample, or why there is none; None if there is nothing new."""
        with self._lock:
            found, self._latest = self._latest, None
        return found

    def run(self) -> None:
        """Take samples until the program ends."""
        while True:
            began = time.monotonic()
            found: ClusterSample | str
            try:
                found = self._sampler.take(*self.wanted)
            except RemotingError as error:
                found = str(error)
            with self._lock:
                self._latest = found
            self._keys.wake()
            took = time.monotonic() - began
            time.sleep(max(self._interval - took, took / _SHARE - took, 0))


def run(endpoint: ClusterAccess, interval: float, *, everything: bool) -> None:
    """Show the traffic until q is pressed.

    Raises:
        RemotingError: the endpoint does not answer at the start.
    """
    traffic, state, console = ClusterTraffic(everything=everything), ScreenState(), Console(file=drawing(sys.stdout))
    with endpoint.unwatched() as cluster:
        sampler = Sampler(cluster, in_turn=True)
        traffic.add(sampler.take())
        with keyboard() as keys, Live(console=console, screen=True, auto_refresh=False) as live:
            sampling = _Sampling(sampler, interval, keys)
            sampling.start()
            while True:
                current = state.current(traffic)
                sampling.wanted = (
                    current if state.focus == TOPICS else None,
                    current if state.focus == GROUPS else None,
                )
                live.update(rendered(traffic, state, console.size.height), refresh=True)
                for key in keys.wait():
                    if key == "q":
                        return
                    state.press(key, traffic)
                found = sampling.latest()
                if isinstance(found, ClusterSample):
                    state.problem = ""
                    traffic.add(found)
                elif found is not None:
                    state.problem = found
