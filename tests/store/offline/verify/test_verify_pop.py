"""POP's records in a store that is verified."""

from __future__ import annotations

from pathlib import Path

from rocketwire.cli.store.verify import summary_lines
from tests.store.offline.support import verified
from tests.store.support import Clock, draft, kill, open_store, small

REVIVE = "rmq_sys_REVIVE_LOG_C"
CHECK_POINT = (
    b'{"bm":0,"bn":"b","c":"G","d":[0],"it":1,"n":1,"pt":2,"q":0,"reviveTime":3,"ro":0,"so":0,"sp":false,"t":"T"}'
)
ACK = b'{"ao":0,"bn":"b","c":"G","pt":2,"q":0,"so":0,"t":"T"}'


def test_what_is_unreadable_is_a_note(tmp_path: Path) -> None:
    store = open_store(small(tmp_path), Clock())
    for tag, body in ((b"ck", CHECK_POINT), (b"ack", ACK), (b"bAck", ACK), (b"ck", b"{"), (b"x", ACK), (b"ack", b"{}")):
        properties = b"TAGS\x01" + tag
        store.append([draft(0, topic=REVIVE, queue_id=3, body=body, properties=properties, unique_key=None, keys=None)])
    store.append([draft(0)])
    while store.dispatch_index():
        pass
    kill(store)
    findings, summary = verified(tmp_path)
    assert (summary.check_points, summary.acknowledgements) == (1, 2)
    said = [str(each) for each in findings if "POP" in str(each)]
    assert [each.split(": ", 2)[1].split(", ", 1)[1] for each in said] == [
        f"{REVIVE} queue 3 offset {offset}" for offset in (3, 4, 5)
    ]
    assert [each.rsplit("of POP: ", 1)[1] for each in said] == [
        "Input data was truncated",
        "it has another tag",
        "Object missing required field `t`",
    ]
    assert summary_lines(summary)[0].endswith(", 1 check point and 2 acknowledgements of POP")
