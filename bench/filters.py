"""The speed of compiled SQL filters over the properties of stored messages. Asserts nothing.

    python -m bench.filters [DIRECTORY]

The messages are stored as a broker stores them and read back; what is timed is a loop that calls the filter with each
one's property text, in this thread alone, as a pull does. DIRECTORY holds the store meanwhile.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Final

from bench.workloads import SQL
from rocketwire.server.filters.sql import compile_sql
from rocketwire.store.append.drafts import Draft
from rocketwire.store.read.fetch import FetchStatus
from rocketwire.store.settings import StoreSettings
from rocketwire.store.store import MessageStore
from rocketwire.wire.facts.properties import CLUSTER, TAGS, UNIQ_KEY, WAIT
from rocketwire.wire.hosts import encode_host
from rocketwire.wire.message import decode_record
from rocketwire.wire.properties import encode_properties
from rocketwire.wire.stored_properties import stored_properties

MESSAGES: Final = 50_000
ROUNDS: Final = 5
EXPRESSIONS: Final = (
    SQL,
    "a > 5",
    "b = 'x'",
    "a BETWEEN 3 AND 6 OR b IN ('x', 'z')",
    "TAGS IS NOT NULL AND NOT (a <= 5 OR b <> 'x')",
    "missing = 'x' AND a > 5",
)
_HOST: Final = encode_host("127.0.0.1", 10911)
_TOPIC: Final = "BenchNumbered"
_CLUSTER: Final = f"{CLUSTER}\x01DefaultCluster"


def clock() -> int:
    return int(time.time() * 1000)


def draft(number: int) -> Draft:
    """A message as the official client sends it, numbered as those of bench/load."""
    letter = "x" if number // 10 % 2 == 0 else "y"
    own = {UNIQ_KEY: f"7F000001{number:024X}", WAIT: "true", TAGS: "TagA"}
    sent = encode_properties({"a": str(number % 10), "b": letter, **own})
    properties = stored_properties(sent, _CLUSTER)
    return Draft(_TOPIC, 0, b"x" * 100, properties.data, 0, 0, clock(), _HOST, unique_key=properties.unique_key)


def stored_texts(root: Path) -> list[bytes]:
    """The property texts of MESSAGES messages that went through a store."""
    store = MessageStore.open(StoreSettings(root=root), clock=clock, store_host=_HOST)
    try:
        for first in range(0, MESSAGES, 32):
            store.append([draft(number) for number in range(first, min(first + 32, MESSAGES))])
        texts: list[bytes] = []
        while (fetched := store.get(_TOPIC, 0, len(texts), 32)).status is FetchStatus.FOUND:
            for chunk in fetched.chunks:
                at = 0
                while at < len(chunk):
                    texts.append(decode_record(chunk, at).properties)
                    at += int.from_bytes(chunk[at : at + 4])
        return texts
    finally:
        store.close()


def evaluations(wanted: Callable[[bytes], bool], texts: Sequence[bytes]) -> tuple[float, int]:
    """Evaluations a second, and how many messages passed."""
    passed = 0
    start = time.perf_counter()
    for text in texts:
        if wanted(text):
            passed += 1
    return len(texts) / (time.perf_counter() - start), passed


def main() -> None:
    root = Path(tempfile.mkdtemp(prefix="rocketwire-bench-", dir=sys.argv[1] if len(sys.argv) > 1 else None))
    try:
        texts = stored_texts(root)
    finally:
        shutil.rmtree(root)
    print(f"{len(texts):,} messages, property text of {len(texts[0])} B, {ROUNDS} rounds, one core")
    print(f"{'expression':48} {'min/s':>12} {'median/s':>12} {'max/s':>12} {'passed':>8}")
    for expression in EXPRESSIONS:
        wanted = compile_sql(expression).wanted
        evaluations(wanted, texts[:1000])
        found = [evaluations(wanted, texts) for _ in range(ROUNDS)]
        rates = sorted(rate for rate, _ in found)
        share = found[0][1] / len(texts)
        print(f"{expression:48} {rates[0]:>12,.0f} {median(rates):>12,.0f} {rates[-1]:>12,.0f} {share:>8.0%}")
    print(f"python {sys.version.split()[0]}, {os.cpu_count()} cores, {os.uname().release}")


if __name__ == "__main__":
    main()
