"""The largest request of each code, in its worst forms, against a real process, and the time that others wait.

The work of a server before it answers an honest client is measured as its processor time, which other processes do not
increase. Its tables are as full as the limits allow.
"""

from __future__ import annotations

import contextlib
import struct
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Final

import pytest

from rocketwire.server.clients.heartbeats import MOST_GROUPS
from rocketwire.server.core.route import Route
from rocketwire.server.registry import FAMILIES, NAME_SERVER_FAMILIES
from rocketwire.store.tables.groups import GroupTable
from rocketwire.store.tables.offsets import OffsetTable
from rocketwire.store.tables.topics import TopicTable
from rocketwire.wire.bodies.group import SubscriptionGroupConfig
from rocketwire.wire.bodies.topic import TopicConfig
from rocketwire.wire.facts.codes import FLAG_RESPONSE, MAX_FRAME_LENGTH, RequestCode, ResponseCode
from rocketwire.wire.frame import encode_frame
from rocketwire.wire.header import MAX_HEADER_BYTES, MAX_HEADER_FIELDS, Header
from rocketwire.wire.json_bounds import MAX_JSON_DEPTH, MAX_JSON_ENTRIES
from rocketwire.wire.stored_properties import MOST_MESSAGES, MOST_PROPERTIES
from tests.server.harness import NOW, batch_body, consumer, heartbeat, pull_ext, subscription
from tests.server.processes import Caller, Process, process, work_for_others, work_of
from tests.slowness import within

WAIT = 0.05
"""Seconds of work that the server does at most before it answers another client."""
MANY_WAIT = 0.25
"""The same if many act at once, so that it cannot be repeated; all of that in one piece would be a second."""
TRIES = 4
"""One of these must suffice: a busy machine sometimes evicts the server's caches, which slows its work."""
REFUSED = 0.2
"""Seconds of work for refused requests: most of them for receiving some 10 MB."""
WIDE = 16_384
TOPICS = 20_000
GROUPS = 9_990
OFFSETS = 500_000
LAST = 9999  # code and opaque of the request behind another
READERS: Final = frozenset(
    {
        RequestCode.SEND_MESSAGE,
        RequestCode.SEND_MESSAGE_V2,
        RequestCode.SEND_BATCH_MESSAGE,
        RequestCode.SEND_REPLY_MESSAGE_V2,
        RequestCode.UPDATE_BROKER_CONFIG,
        RequestCode.HEART_BEAT,
        RequestCode.BATCH_ACK_MESSAGE,
        RequestCode.CHECK_CLIENT_CONFIG,
        RequestCode.LOCK_BATCH_MQ,
        RequestCode.UNLOCK_BATCH_MQ,
        RequestCode.REGISTER_BROKER,
        RequestCode.QUERY_DATA_VERSION,
        RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
        RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST,
        RequestCode.UPDATE_AND_CREATE_TOPIC_LIST,
    }
)
"""The class that a request's body is read as; other bodies are equal."""


def fill(store: Path) -> None:
    """Tables as full as they can be."""
    folder = store / "config"
    folder.mkdir(parents=True)
    topics = TopicTable.open(folder / "topics.json", clock=lambda: NOW)
    for number in range(TOPICS - 20):
        topics.put(TopicConfig(topic_name=f"{number:0>100}"))
    topics.put(TopicConfig(topic_name="Wide", read_queue_nums=WIDE, write_queue_nums=WIDE))
    topics.persist()
    groups = GroupTable.open(folder / "subscriptionGroup.json", clock=lambda: NOW)
    for number in range(GROUPS):
        groups.put(SubscriptionGroupConfig(group_name=f"G{number}"))
    groups.persist()
    offsets = OffsetTable.open(folder / "consumerOffset.json")
    for queue_id in range(WIDE):
        offsets.put("G0", "Wide", queue_id, 0)
    for number in range(OFFSETS - WIDE - 10):
        offsets.put("G0" if number % 2 else f"G{number}", f"Gone{number}", 0, 1)
    offsets.persist()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    store = tmp_path_factory.mktemp("store")
    fill(store)
    with process(store) as running, Caller(running.broker) as member:
        join(member, "c", "G0")
        yield running


def join(member: Caller, client_id: str, group: str) -> None:
    """Have a client in a group."""
    body = heartbeat(client_id, consumer(group, subscription("Wide")))
    answer = member.request(RequestCode.HEART_BEAT, body=body)
    while not answer.header.is_response:  # the notification that it joined
        answer = member.receive()
    assert answer.header.code == 0


def others_wait(
    server: Process, address: str, *, pause: float = 0.0005
) -> contextlib.AbstractContextManager[list[float]]:
    """Send requests without pause while the block runs: the work of the server until each answer."""
    query: tuple[int, dict[str, str]] = (RequestCode.GET_KV_CONFIG, {"namespace": "N", "key": "k"})
    if address == server.broker:
        query = (RequestCode.GET_MAX_OFFSET, {"topic": "Wide", "queueId": "0"})
    return work_for_others(server.pid, address, lambda caller: caller.request(*query), pause=pause)


def wait_for(server: Process, address: str, request: bytes) -> float:
    """The work of the server before it answers others while it carries out a request.

    The request behind it is answered when it is done, or the connection is closed.
    """
    opaque = 0
    with Caller(address) as caller, others_wait(server, address) as took, contextlib.suppress(OSError):
        caller.write(request)
        caller.write(encode_frame(Header(code=LAST, opaque=LAST, version=407), b""))
        while opaque != LAST:
            opaque = caller.receive().header.opaque
    return max(took, default=0.0)


def many(each: str, count: int) -> str:
    """So many items of a list or members of an object."""
    return ",".join(each.format(number) for number in range(count))


@cache
def bodies() -> Mapping[str, bytes]:
    """The largest accepted ones, in their worst forms."""
    room = MAX_FRAME_LENGTH - (64 << 10)
    start = '{"clientID":"c","clientId":"c","consumerGroup":"g",'
    topic = (
        '"t{0}":{{"order":false,"perm":6,"readQueueNums":8,"topicName":"t{0}","writeQueueNums":8,"attributes":{{}}}}'
    )
    wrapper = '{{"topicConfigSerializeWrapper":{{"topicConfigTable":{{{}}}}}}}'
    texts = {
        "the same queue": start + '"mqSet":[' + many("{{}}", MAX_JSON_ENTRIES - 10) + "]}",
        "queues": start + '"mqSet":[' + many('{{"queueId":{}}}', MAX_JSON_ENTRIES // 2 - 10) + "]}",
        "members": "{" + many('"{}":""', MAX_JSON_ENTRIES) + "}",
        "members of objects": "{" + many('"{}":{{"a":[""]}}', MAX_JSON_ENTRIES // 3) + "}",
        "numbers": '{"clientId":[' + many("1.7976931348623157e308", MAX_JSON_ENTRIES - 10) + "]}",
        "keys that are numbers": "{" + many("{}:1", MAX_JSON_ENTRIES) + "}",
        "deep": '{"mqSet":['
        + many("[" * (MAX_JSON_DEPTH - 2) + "]" * (MAX_JSON_DEPTH - 2), MAX_JSON_ENTRIES // MAX_JSON_DEPTH)
        + "]}",
        "a string": '{"clientId":"' + "\\u00e4" * (room // 6) + '"}',
        "a string that is no plain JSON": "{clientId:'" + "\\u00e4" * 340_000 + "'}",
        "producers": start + '"producerDataSet":[' + many('{{"groupName":"P{}"}}', MOST_GROUPS) + "]}",
        "consumers": start + '"consumerDataSet":[' + many('{{"groupName":"G{}"}}', MOST_GROUPS) + "]}",
        "subscriptions": start
        + '"consumerDataSet":[{"groupName":"G1","subscriptionDataSet":['
        + many('{{"topic":"T{}"}}', 4000)
        + "]}]}",
        "one subscription": start
        + '"subscriptionData":{"topic":"T","expressionType":"SQL92","subString":"'
        + " OR ".join(f"a{number}=1" for number in range(20_000))
        + '"}}',
        "settings": "".join(f"k{number}=v\n" for number in range(6000)),
        "a setting": "k=v\\\n" * 13_000,
        "topics": wrapper.format(many(topic, 28_000)),
        "topics without anything": wrapper.format(many('"t{}":{{}}', 65_000)),
        "a list of topics": '{"topicConfigList":[' + many('{{"topicName":"t{0}"}}', 28_000) + "]}",
        "a list of one topic": '{"topicConfigList":[' + many('{{"topicName":"T"}}', 28_000) + "]}",
        "a list of groups": '{"groupConfigList":[' + many('{{"groupName":"g{0}"}}', 28_000) + "]}",
        "a list of one group": '{"groupConfigList":[' + many('{{"groupName":"G1"}}', 28_000) + "]}",
        "a topic's members": wrapper.format('"t":{' + many('"{}":1', 300_000) + "}"),
    }
    item = "\x02" * 32_000
    found = {name: text.encode() for name, text in texts.items()}
    return found | {
        "messages": batch_body([b"x"] * MOST_MESSAGES),
        "messages with properties": b"".join(batch_body([b"x"], item) for _ in range(MOST_PROPERTIES // len(item))),
        "inflated topics": zlib.compress(
            b"\0\0\0\2{}" + struct.pack(">i", 32_000) + b"".join(map(_counted_topic, range(32_000))) + b"\0\0\0\2[]"
        ),
        "zeros": bytes(room),
    }


def _counted_topic(number: int) -> bytes:
    text = b"t%d 1 1 6 SINGLE_TAG" % number
    return struct.pack(">i", len(text)) + text


def headers(route: Route) -> dict[str, dict[str, str]]:
    """Extension fields: the right ones of the code, and the largest in their worst forms."""
    names: list[str] = []
    if route.header is not None:
        wire = zip(route.header.__struct_fields__, route.header.__struct_encode_fields__, strict=True)
        names = [route.header.SHORT_NAMES.get(attribute, name) if route.short else name for attribute, name in wire]
    values = {"topic": "Wide", "b": "Wide", "timestamp": str(NOW), "bodyCrc32": "0", "compressed": "false"}
    plain = {name: values.get(name, "G0" if "roup" in name or name == "a" else "1") for name in names}
    found = {"plain": plain, "fields": plain | {f"f{number}": "" for number in range(MAX_HEADER_FIELDS - len(plain))}}
    for number, text in enumerate(("a,b||", "x=y;", "\x01\x02")):
        for name in names or ["x"]:
            room = MAX_HEADER_BYTES - 2048
            found[f"long {name} {number}"] = {**plain, name: text * (room // (12 if number > 1 else len(text)))}
    return found


def requests(route: Route) -> Iterator[tuple[str, bytes]]:
    """The largest requests of a code."""
    for name, ext in headers(route).items():
        yield name, encode_frame(Header(code=route.code, opaque=1, version=407, ext=ext), b"")
    ext = headers(route)["plain"]
    for name, body in bodies().items():
        if route.code in READERS or name == "zeros":
            yield name, encode_frame(Header(code=route.code, opaque=1, version=407, ext=ext), body)
            if "compressed" in ext and name.startswith("inflated"):
                inflated = Header(code=route.code, opaque=1, version=407, ext={**ext, "compressed": "true"})
                yield f"{name}, as such", encode_frame(inflated, body)


ROUTES = [route for routes in FAMILIES.values() for route in routes]
OF_NAME_SERVER = {route.code for routes in NAME_SERVER_FAMILIES.values() for route in routes}


@pytest.mark.slow
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.code.name)
def test_others_do_not_wait_for_the_largest_requests(server: Process, route: Route) -> None:
    address = server.name_server if route.code in OF_NAME_SERVER else server.broker
    for name, request in requests(route):
        least = least_wait(partial(wait_for, server, address, request))
        assert within(least, WAIT), f"{name}: {least:.3f} s"


def least_wait(measured: Callable[[], float]) -> float:
    """The shortest of a few measurements, or the first that is short enough."""
    least = measured()
    for _ in range(TRIES - 1):
        if within(least, WAIT):
            break
        least = min(least, measured())
    return least


@pytest.mark.slow
def test_others_do_not_wait_for_large_answers_of_clients(server: Process) -> None:
    """Offsets of a client, not as plain JSON; as many entries as a body may have."""
    rows = many('{{"brokerName":"b","queueId":{0},"topic":"T"}}:{0}', MAX_JSON_ENTRIES // 4 - 10)
    offsets = f'{{"messageQueueTable":{{{rows}}}}}'.encode()

    def measured() -> float:
        with Caller(server.broker) as member, Caller(server.broker) as requester:
            join(member, "m", "G1")
            requester.write(
                requester.frame(RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, {"group": "G1", "topic": "T"})
            )
            push = member.receive()
            while push.header.code != RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT:
                push = member.receive()
            with others_wait(server, server.broker) as took:
                member.write(encode_frame(Header(code=0, opaque=push.header.opaque, flag=FLAG_RESPONSE), offsets))
                assert bytes(requester.receive().body).count(b"queueId") == MAX_JSON_ENTRIES // 4 - 10
        return max(took, default=0.0)

    assert within(least_wait(measured), WAIT)


def waited_while(server: Process, address: str, act: Callable[[], object]) -> float:
    """The work of the server before it answers others, meanwhile and in the following second."""
    with others_wait(server, address) as took:
        act()
        time.sleep(1)
    return max(took)


@pytest.mark.slow
def test_others_do_not_wait_for_many_simultaneous_requests(server: Process) -> None:
    """Each is little smaller than one that runs in a thread; together they would block others for a second."""
    lock = '{"clientId":"c","consumerGroup":"g","mqSet":[' + many("{{}}", 1300) + "]}"
    lenient = "{" + many("{}:1", 1000) + "}"
    value = {"namespace": "N", "key": "k" * 8000, "value": "v" * 100_000}
    put = encode_frame(Header(code=RequestCode.PUT_KV_CONFIG, opaque=1, version=407, ext=value), b"")
    for address, request in (
        (server.broker, encode_frame(Header(code=41, opaque=1, version=407), lock.encode())),
        (server.broker, encode_frame(Header(code=41, opaque=1, version=407), lenient.encode())),
        (server.name_server, put),
    ):

        def measured(address: str = address, request: bytes = request) -> float:
            def send_all() -> None:
                for each in requesters:
                    each.write(request)
                for each in requesters:
                    each.receive()

            with contextlib.ExitStack() as stack:
                requesters = [stack.enter_context(Caller(address)) for _ in range(50)]
                return waited_while(server, address, send_all)

        assert within(least_wait(measured), WAIT)


@pytest.mark.slow
def test_others_do_not_wait_while_the_members_of_many_groups_are_notified(server: Process) -> None:
    body = ('{"clientID":"c","consumerDataSet":[' + many('{{"groupName":"G{}"}}', MOST_GROUPS) + "]}").encode()
    request = encode_frame(Header(code=RequestCode.HEART_BEAT, opaque=1, version=407), body)
    with contextlib.ExitStack() as stack:
        members = [stack.enter_context(Caller(server.broker)) for _ in range(20)]

        def join_all(joining: Sequence[Caller]) -> None:
            for each in joining:
                each.write(request)
            for each in joining:
                while not each.receive().header.is_response:
                    pass

        join_all(members[:1])  # creates the retry topics

        assert within(waited_while(server, server.broker, partial(join_all, members[1:])), MANY_WAIT)
        leaving = stack.pop_all()
    assert within(waited_while(server, server.broker, leaving.close), MANY_WAIT)


@pytest.mark.slow
def test_others_do_not_wait_while_filters_are_compiled_or_searched(server: Process) -> None:
    """Pulls with different expressions are held at one queue; a message with many properties wakes them."""
    with contextlib.ExitStack() as stack:
        sending, pulling = (stack.enter_context(Caller(server.broker)) for _ in range(2))
        sending.create_topic("Filtered")
        sending.send("Filtered")
        for number in range(500):
            own = " OR ".join(f"a{name}={number}" for name in range(20))
            more = {"subscription": own, "sysFlag": "6", "expressionType": "SQL92", "subVersion": "1"}
            ext = {**pull_ext("Filtered", 1), **more, "suspendTimeoutMillis": "60000"}
            pulling.write(encode_frame(Header(code=RequestCode.PULL_MESSAGE, opaque=1, version=407, ext=ext), b""))
            if number == 0:
                time.sleep(0.1)
                took = stack.enter_context(others_wait(server, server.broker))
        time.sleep(2)
        items = "\x02".join(f"k{number}\x01v" for number in range(4000))
        sending.send("Filtered", properties=items)
        time.sleep(1)
    assert within(max(took), MANY_WAIT)


@pytest.mark.slow
@pytest.mark.parametrize("code", sorted(READERS - {RequestCode.UPDATE_BROKER_CONFIG}))
def test_refused_requests_that_are_too_large_cost_little(server: Process, code: int) -> None:
    """Requests that are refused, and that are sent for nothing."""
    address = server.name_server if code in OF_NAME_SERVER else server.broker
    route = next(each for each in ROUTES if each.code == code)
    sends = code in {
        RequestCode.SEND_MESSAGE,
        RequestCode.SEND_MESSAGE_V2,
        RequestCode.SEND_BATCH_MESSAGE,
        RequestCode.SEND_REPLY_MESSAGE_V2,
    }
    body = '{"consumerGroup":"g","clientId":"c","mqSet":[' + ",".join(["{}"] * 1_000_000) + "]}"
    ext = {f"f{number}": "" for number in range(1_000_000)}
    header = {name: text for name, text in headers(route)["plain"].items() if name != "m"}
    requests = [encode_frame(Header(code=code, opaque=1, version=407, ext=ext), b"")]
    if not sends:
        requests.append(encode_frame(Header(code=code, opaque=1, version=407, ext=header), body.encode()))
    for request in requests:
        found: list[float] = []
        for _ in range(TRIES):
            began = work_of(server.pid)
            with Caller(address) as caller:
                caller.write(request)
                answer = caller.receive().header
            found.append(work_of(server.pid) - began)
            assert answer.code == ResponseCode.SYSTEM_BUSY
            assert str(answer.remark).startswith("[REJECTREQUEST]")
        assert within(min(found), REFUSED)
