"""What passes through the relay is, byte for byte, what Python makes of the stream, however it is split."""

import socket
import struct
import threading
from contextlib import suppress
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from rocketwire import _kernel as kernel
from tests.kernel.relay.relay_support import NEW, OLD, Pair, events, frame, relayed, send_and_wait, to_the_end

LONGEST = 400

ids = st.lists(st.sampled_from([OLD + b"00FF", NEW + b"00FF", b"x"]), max_size=4).map(b",".join)
json_headers = ids.map(lambda value: b'{"code":0,"extFields":{"msgId":"%b","queueId":"1"}}' % value)
binary_headers = ids.map(
    lambda value: bytes(17) + struct.pack(">I", 11 + len(value)) + b"\0\5msgId" + struct.pack(">I", len(value)) + value
)
frames = st.builds(frame, st.binary(max_size=60), json_headers, st.just(0)) | st.builds(
    frame, st.binary(max_size=60), binary_headers | st.binary(max_size=20), st.integers(0, 2)
)
lengths = st.integers(-3, LONGEST + 3) | st.sampled_from([-(2**31), 2**31 - 1])
hostile = st.binary(max_size=20) | st.builds(
    lambda length, header, rest: struct.pack(">iI", length, header) + rest,
    lengths,
    st.integers(0, LONGEST) | st.integers(0, 2**32 - 1),
    st.binary(max_size=LONGEST),
)
streams = st.tuples(st.lists(frames, max_size=6).map(b"".join), st.just(b"") | hostile).map(b"".join)


def split(data: bytes, places: list[int]) -> list[bytes]:
    at = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[start:end] for start, end in pairwise(at)]


@given(streams, streams, st.lists(st.integers(0, 2000), max_size=8), st.integers(0, 10))
def test_both_streams_however_they_are_split(requests: bytes, answers: bytes, places: list[int], before: int) -> None:
    relay = kernel.Relay(1 << 20)
    pair = Pair(
        relay, to_upstream=requests[:before], to_client=answers[: 3 * before], longest_frame=LONGEST, hosts=(OLD, NEW)
    )
    to_upstream, client_bad = relayed(requests, LONGEST, None)
    to_client, upstream_bad = relayed(answers, LONGEST, (OLD, NEW))
    got: dict[str, bytes] = {}
    readers = [
        threading.Thread(target=lambda: got.update(upstream=to_the_end(pair.upstream))),
        threading.Thread(target=lambda: got.update(client=to_the_end(pair.client))),
    ]
    for reader in readers:
        reader.start()
    sources = [(pair.client, split(requests[before:], places)), (pair.upstream, split(answers[3 * before :], places))]
    for step in range(1 + max(len(pieces) for _, pieces in sources)):
        for end, pieces in sources:
            if step < len(pieces):
                send_and_wait(end, pieces[step])
    for end in pair.ends:
        with suppress(OSError):  # it was closed for a frame that cannot be
            end.shutdown(socket.SHUT_WR)
    for reader in readers:
        reader.join()
    bad = {f"{side} misread" for side, found in (("client", client_bad), ("upstream", upstream_bad)) if found}
    [(number, ended, handed)] = events(relay)
    assert (number, handed) == (pair.number, None)
    assert ended in (bad or {"client", "upstream"})
    assert to_upstream.startswith(got["upstream"])
    assert to_client.startswith(got["client"])
    assert got["upstream"] == to_upstream or upstream_bad
    assert got["client"] == to_client or client_bad
    pair.close()
    relay.close()
