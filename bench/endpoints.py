"""How long fresh endpoints of `rocketwire.testing` take, one after the other, and whether they leave anything behind.

`python -m bench.endpoints` starts 200, sends a message to each and receives it.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

from rocketwire.testing import endpoint
from rocketwire.testing.place import base_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What this process has, and those below it: all of it is to be as before when an endpoint is closed."""

    processes: frozenset[int]
    descriptors: int
    threads: int
    folders: frozenset[str]
    ports: frozenset[int] = field(default=frozenset())


def usage(ports: frozenset[int] = frozenset()) -> Usage:
    """The present usage; of `ports` those on which a process listens."""
    found = base_folder().glob("rocketwire-test-*")
    own = {str(path) for path in found if path.stat().st_uid == os.getuid() and _is_ours(path)}
    return Usage(
        processes=descendants(os.getpid()),
        descriptors=len(list(Path("/proc/self/fd").iterdir())),
        threads=threading.active_count(),
        folders=frozenset(own),
        ports=ports & _listening(),
    )


def children(process: int) -> frozenset[int]:
    """The processes that a process has started, or that were given to it."""
    found: set[int] = set()
    with contextlib.suppress(OSError):  # it has ended
        for task in Path(f"/proc/{process}/task").iterdir():
            found.update(int(pid) for pid in (task / "children").read_text(encoding="ascii").split())
    return frozenset(found)


def descendants(process: int) -> frozenset[int]:
    """Those, theirs, and so on: a server is a fork of a process that this one keeps."""
    below = children(process)
    return below.union(*(descendants(each) for each in below))


def _is_ours(folder: Path) -> bool:
    """Whether this process has the folder's lock: others, which run beside it, have other folders."""
    owner = (folder / "owner").stat()
    held = {line.split()[5] for line in Path("/proc/locks").read_text(encoding="ascii").splitlines() if _own(line)}
    return any(each.endswith(f":{owner.st_ino}") for each in held)


def _own(lock: str) -> bool:
    words = lock.split()
    return words[1] == "FLOCK" and words[4] == str(os.getpid())


def _listening() -> frozenset[int]:
    """The TCP ports on which a process listens."""
    lines = Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]
    return frozenset(int(words[1].rpartition(":")[2], 16) for words in map(str.split, lines) if words[3] == "0A")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Seconds until an endpoint was ready, until its first message was received, and until it had ended."""

    ready: float
    received: float
    ended: float
    ports: frozenset[int]


def measured() -> Measured:
    """One endpoint."""
    began = time.perf_counter()
    with endpoint() as ep:
        ready = time.perf_counter()
        topic = ep.topic()
        ep.send(topic, b"message")
        (message,) = ep.receive(topic)
        assert message.body == b"message"
        received = time.perf_counter()
        ports = frozenset(int(each.rpartition(":")[2]) for each in (ep.namesrv, ep.broker, ep.http))
    ended = time.perf_counter()
    return Measured(ready=ready - began, received=received - ready, ended=ended - received, ports=ports)


def spent() -> float:
    """Seconds of processor time of this process and all below it, also of those that have ended."""
    own = [getrusage(who) for who in (RUSAGE_SELF, RUSAGE_CHILDREN)]
    below = 0
    for each in descendants(os.getpid()):
        words = Path(f"/proc/{each}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        below += sum(int(word) for word in words[11:15])
    return sum(one.ru_utime + one.ru_stime for one in own) + below / os.sysconf("SC_CLK_TCK")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.endpoints", description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=200, help="how many endpoints")
    count = parser.parse_args().count
    first = measured()  # what this process imports and keeps is loaded afterwards
    before, start = usage(), spent()
    print(f"the first, with all imports: ready {first.ready:.3f} s, {start:.3f} s of processor time")
    began = time.perf_counter()
    runs = [measured() for _ in range(count)]
    seconds = time.perf_counter() - began
    print(f"{count} endpoints in {seconds:.1f} s")
    each = (spent() - start) / count
    print(f"processor time of each further one, with its test: {each:.3f} s")  # however busy the machine is
    for name in ("ready", "received", "ended"):
        values = sorted(getattr(each, name) for each in runs)
        print(f"{name}: median {statistics.median(values):.3f} s, longest {values[-1]:.3f} s")
    after = usage(frozenset().union(*(each.ports for each in runs)))
    print("nothing is left" if after == before else f"before {before}\nafter  {after}")
    return 0 if after == before else 1


if __name__ == "__main__":
    sys.exit(main())
