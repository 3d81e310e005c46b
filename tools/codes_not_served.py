"""Why some request codes have no handler: the reasons in docs/request-codes.md."""

from collections.abc import Iterable
from typing import Final

from rocketwire.wire.facts.codes import RequestCode

REASONS: Final[tuple[tuple[str, Iterable[int]], ...]] = (
    ("a server sends it to clients", (39, 40, 220, 221, 326, 200073)),
    (
        "a name without a meaning: Apache's 4.9.7 and 5.5.0 do not serve it either",
        (13, 22, 23, 27, 47, *range(209, 215)),
    ),
    ("filter servers ended with 4.2; SQL92 filters replace them", (301, 302)),
    (
        "replication: there is one broker, without slaves or an acting master",
        (43, 45, 901, *range(904, 909)),
    ),
    ("5.x brokers register one topic with it; here they register all with 103", (217,)),
    ("a controller elects masters; there is none", range(1001, 1014)),
    ("a broker container runs several brokers in one process; this is one broker", (902, 903)),
    ("static topics map queues across brokers; there is one broker", (513,)),
    ("the store is files, not RocksDB", (354, 355)),
    ("the timer has one engine", (5001,)),
    ("reads of cold data are not limited", (2001, 2002, 2003, 2004)),
    ("declared, and served by no broker", (200056,)),
    ("lite topics of 5.5.0", (*range(200070, 200073), *range(200074, 200080))),
    ("users and policies of 5.x: accounts here are 4.9.7's (50 to 54), without types or policies", range(3001, 3011)),
    ("a group may read every topic that it may consume; no tool of 4.9.7 or 5.5.0 sends it", (353,)),
)
_OTHERWISE: Final = "not served yet"


def by_reason(codes: Iterable[RequestCode]) -> list[tuple[str, list[RequestCode]]]:
    """The codes under their reasons, in the order of these; at the end those without one."""
    left = sorted(codes)
    found: list[tuple[str, list[RequestCode]]] = []
    for reason, numbers in REASONS:
        wanted = frozenset(numbers)
        found.append((reason, [code for code in left if code in wanted]))
        left = [code for code in left if code not in wanted]
    found.append((_OTHERWISE, left))
    return [(reason, some) for reason, some in found if some]
