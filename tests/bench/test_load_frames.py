"""What the raw load generator sends is what the official Java client sends."""

import json
import re
import subprocess
from pathlib import Path

from rocketwire.wire.batch import decode_batch
from rocketwire.wire.bodies._codec import decode_body
from rocketwire.wire.bodies.client import HeartbeatData
from rocketwire.wire.frame import Frame, decode_frame
from rocketwire.wire.headers._codec import decode_ext
from rocketwire.wire.headers.admin import CreateTopicRequestHeader
from rocketwire.wire.headers.pull import PullMessageRequestHeader
from rocketwire.wire.headers.send import ConsumerSendMsgBackRequestHeader, SendMessageRequestHeader
from rocketwire.wire.headers.transaction import EndTransactionRequestHeader
from rocketwire.wire.properties import decode_properties
from tests.wire.golden import Capture
from tests.wire.golden import frames as frames_of


def dump(load: Path, *options: str) -> tuple[list[Frame], list[str]]:
    """The frames that the generator writes, and the text of their headers."""
    data = subprocess.run([load, *options], check=True, capture_output=True).stdout
    frames, headers, at = [], [], 0
    while at < len(data):
        size = 4 + int.from_bytes(data[at : at + 4])
        frames.append(decode_frame(data[at : at + size]))
        headers.append(data[at + 8 : at + 8 + int.from_bytes(data[at + 5 : at + 8])].decode())
        at += size
    return frames, headers


def golden_header(capture: str, code: int) -> str:
    """The text of the first request header with this code in a capture of the Java client."""
    found = frames_of(Capture("4.9.7", capture))
    data, row = next((data, row) for _, data, row in found if row["code"] == code and row["kind"] != "response")
    return data[8 : 8 + row["headerLength"]].decode()


def shape(header: str) -> str:
    """A header's text without its values: the rest must agree to the byte."""
    blanked = re.sub(r'"([a-z]|[a-z][A-Za-z]+)":"[^"]*"', r'"\1":"?"', header)
    return re.sub(r'"(opaque|flag)":\d+', r'"\1":?', blanked)


def test_a_send_is_the_java_clients_to_the_byte_but_for_its_values(load: Path) -> None:
    _, headers = dump(load, "send", "--dump", "1", "--tags", "TagA", "--keys")
    assert shape(headers[0]) == shape(golden_header("send_oneway", 310))
    properties = json.loads(headers[0])["extFields"]["i"]
    golden = json.loads(golden_header("send_oneway", 310))["extFields"]["i"]
    assert list(decode_properties(properties)) == list(decode_properties(golden))
    assert "\\u0001" in headers[0]
    assert "\\u0002" in headers[0]


def test_sends_decode_with_their_own_opaque_queue_and_unique_key(load: Path) -> None:
    frames, _ = dump(load, "send", "--dump", "20", "--topic", "T", "--queues", "4", "--size", "37")
    headers = [decode_ext(SendMessageRequestHeader, frame.header.ext, short=True) for frame in frames]
    assert [header.queue_id for header in headers] == [0, 1, 2, 3] * 5
    assert {
        (header.topic, header.default_topic, header.default_topic_queue_nums, header.batch) for header in headers
    } == {("T", "TBW102", 4, False)}
    assert {len(frame.body) for frame in frames} == {37}
    assert len({frame.header.opaque for frame in frames}) == 20
    assert {frame.header.code for frame in frames} == {310}
    properties = [decode_properties(header.properties or "") for header in headers]
    assert {tuple(one) for one in properties} == {("UNIQ_KEY", "WAIT")}
    assert {one["WAIT"] for one in properties} == {"true"}
    keys = {one["UNIQ_KEY"] for one in properties}
    assert len(keys) == 20
    assert all(re.fullmatch("7F000001[0-9A-F]{24}", key) for key in keys)


def test_a_body_of_a_megabyte_fits(load: Path) -> None:
    frames, _ = dump(load, "send", "--dump", "1", "--size", "1000000")
    assert len(frames[0].body) == 1_000_000


def test_a_batch_is_the_java_clients_and_each_message_has_its_unique_key(load: Path) -> None:
    frames, headers = dump(load, "batch", "--dump", "2", "--batch", "5", "--size", "11", "--keys", "--tags", "A")
    assert shape(headers[0]) == shape(golden_header("send_batch", 320))
    keys = set()
    for frame in frames:
        header = decode_ext(SendMessageRequestHeader, frame.header.ext, short=True)
        assert header.batch
        assert decode_properties(header.properties or "") == {"WAIT": "true"}
        items = decode_batch(frame.body)
        assert [len(item.body) for item in items] == [11] * 5
        assert [item.flag for item in items] == [0] * 5
        for item in items:
            properties = decode_properties(bytes(item.properties).decode())
            assert list(properties) == ["KEYS", "UNIQ_KEY", "WAIT", "TAGS"]
            assert properties["KEYS"][1:] == properties["UNIQ_KEY"][-12:]
            keys.add(properties["UNIQ_KEY"])
    assert len(keys) == 10


def test_a_pull_is_the_push_consumers(load: Path) -> None:
    frames, headers = dump(
        load, "pull", "--dump", "3", "--topic", "T", "--group", "g", "--batch", "32", "--queues", "2"
    )
    assert shape(headers[0]) == shape(golden_header("push_longpolling", 11))
    pulls = [decode_ext(PullMessageRequestHeader, frame.header.ext) for frame in frames]
    assert [(pull.queue_id, pull.queue_offset) for pull in pulls] == [(0, 0), (1, 1), (0, 2)]
    assert {(pull.topic, pull.consumer_group, pull.max_msg_nums, pull.sys_flag) for pull in pulls} == {
        ("T", "g", 32, 3)
    }


def test_set_up_frames_decode(load: Path) -> None:
    (heartbeat, offset, create), headers = dump(load, "wake", "--dump", "3", "--topic", "T", "--group", "g")
    assert shape(headers[0]) == shape(golden_header("push_longpolling", 34))
    data = decode_body(HeartbeatData, heartbeat.body)
    assert [consumer.group_name for consumer in data.consumer_data_set] == ["g"]
    assert [one.topic for one in data.consumer_data_set[0].subscription_data_set] == ["T"]
    assert (offset.header.code, (offset.header.ext or {})["topic"]) == (30, "T")
    topic = decode_ext(CreateTopicRequestHeader, create.header.ext)
    assert (topic.topic, topic.read_queue_nums, topic.write_queue_nums, topic.perm) == ("T", 8, 8, 6)


def test_a_delayed_send_is_the_java_clients(load: Path) -> None:
    _, headers = dump(load, "send", "--dump", "1", "--tags", "TagA", "--keys", "--delay", "18")
    golden = golden_header("send_delay", 310)
    assert shape(headers[0]) == shape(golden)
    properties, known = (decode_properties(json.loads(text)["extFields"]["i"]) for text in (headers[0], golden))
    assert list(properties) == list(known)
    assert properties["DELAY"] == "18"


def test_a_transaction_is_the_java_clients_but_that_its_end_is_answered(load: Path) -> None:
    options = ["--tags", "TagA", "--keys", "--group", "g"]
    frames, headers = dump(load, "transaction", "--dump", "2", *options)
    prepared, known = headers[0], golden_header("transaction_check", 310)
    assert shape(prepared) == shape(known)
    fields, known_fields = (json.loads(text)["extFields"] for text in (prepared, known))
    assert fields["f"] == known_fields["f"] == "4"
    properties = decode_properties(fields["i"])
    assert list(properties) == list(decode_properties(known_fields["i"]))
    assert (properties["TRAN_MSG"], properties["PGROUP"]) == ("true", "g")
    assert shape(headers[1]) == shape(golden_header("transaction_check", 37))
    end = decode_ext(EndTransactionRequestHeader, frames[1].header.ext)
    assert frames[1].header.flag == 0
    assert (end.producer_group, end.commit_log_offset, end.tran_state_table_offset) == ("g", 1001, 1)
    assert (end.commit_or_rollback, end.from_transaction_check) == (8, False)
    assert re.fullmatch("7F000001[0-9A-F]{12}000000000001", end.msg_id)


def test_a_send_back_is_the_java_clients(load: Path) -> None:
    frames, headers = dump(load, "retry", "--dump", "1", "--topic", "T", "--group", "g", "--delay", "18")
    assert shape(headers[0]) == shape(golden_header("retry_dlq", 36))
    back = decode_ext(ConsumerSendMsgBackRequestHeader, frames[0].header.ext)
    assert (back.offset, back.group, back.origin_topic, back.delay_level) == (1000, "g", "T", 18)
    assert back.max_reconsume_times == 16


def test_numbered_messages_carry_every_number_in_every_queue(load: Path) -> None:
    frames, _ = dump(load, "send", "--dump", "80", "--queues", "2", "--numbered")
    found: dict[int, list[tuple[str, str]]] = {0: [], 1: []}
    for frame in frames:
        header = decode_ext(SendMessageRequestHeader, frame.header.ext, short=True)
        properties = decode_properties(header.properties or "")
        assert list(properties) == ["a", "b", "UNIQ_KEY", "WAIT"]
        found[header.queue_id].append((properties["a"], properties["b"]))
    assert found[0] == found[1] == [(digit, letter) for letter in "xyxy" for digit in "0123456789"]


def test_numbered_messages_of_a_batch(load: Path) -> None:
    frames, _ = dump(load, "batch", "--dump", "1", "--batch", "24", "--queues", "2", "--numbered")
    found = [decode_properties(bytes(item.properties).decode()) for item in decode_batch(frames[0].body)]
    assert [properties["a"] for properties in found] == [digit for digit in "012345678901" for _ in range(2)]
    assert [properties["b"] for properties in found] == ["x"] * 20 + ["y"] * 4


def test_a_filter_is_in_the_heartbeat_and_the_pull(load: Path) -> None:
    options = ["--topic", "T", "--group", "g", "--sql", "a > 5 AND b = 'x'"]
    (pull, *_), headers = dump(load, "pull", "--dump", "1", *options)
    assert shape(headers[0]) == shape(golden_header("sql_filter", 11))
    assert decode_ext(PullMessageRequestHeader, pull.header.ext).expression_type == "SQL92"
    (heartbeat, *_), _ = dump(load, "wake", "--dump", "1", *options)
    subscription = decode_body(HeartbeatData, heartbeat.body).consumer_data_set[0].subscription_data_set[0]
    assert (subscription.expression_type, subscription.sub_string) == ("SQL92", "a > 5 AND b = 'x'")


def test_a_wrong_option_ends_with_one_line_and_the_usage(load: Path) -> None:
    done = subprocess.run([load, "send", "--window", "0"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0].startswith("load: queues, connections")
