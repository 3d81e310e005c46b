"""Bodies of the name server: routes, the cluster's brokers, lists, and a broker's registration."""

import zlib
from dataclasses import dataclass, field, replace
from struct import Struct
from typing import Final

import msgspec

from rocketwire.wire.bodies._codec import LENIENT_LIMIT, decode_body, encode_body
from rocketwire.wire.bodies._shapes import camel_case, from_builtins
from rocketwire.wire.bodies.fastjson import Json, dumps, loads, to_int32, to_text
from rocketwire.wire.bodies.topic import (
    DataVersion,
    TopicConfig,
    TopicConfigSerializeWrapper,
    TopicFilterType,
)
from rocketwire.wire.errors import BodyInvalid, EntriesTooMany, RegistrationTooLarge
from rocketwire.wire.java import Int32, Int64
from rocketwire.wire.json_bounds import MAX_JSON_ENTRIES

_INT32: Final = Struct(">i")
_BYTES_PER_TOPIC: Final = 128
"""Bytes of the shortest topic configuration that a broker writes in JSON; from 5.x on it contains a second object."""
_OTHER_OBJECTS: Final = 8
_TOPIC_WORDS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueData:
    """The queues that one broker has of a topic; ``perm`` has the bits of ``Permission``."""

    broker_name: str = ""
    read_queue_nums: Int32 = 0
    write_queue_nums: Int32 = 0
    perm: Int32 = 0
    topic_sys_flag: Int32 = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerData:
    """The addresses of one broker by broker id; id 0 is the master."""

    cluster: str | None = None
    broker_name: str = ""
    broker_addrs: dict[Int64, str] = field(default_factory=dict)
    enable_acting_master: bool | None = None
    """Only 5.x has it."""
    zone_name: str | None = None
    """Only 5.x has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRouteData:
    """Where a topic's queues are (answer to 105)."""

    broker_datas: tuple[BrokerData, ...] = ()
    queue_datas: tuple[QueueData, ...] = ()
    filter_server_table: dict[str, tuple[str, ...]] = field(default_factory=dict)
    order_topic_conf: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterInfo:
    """All brokers by name, and the broker names of each cluster (answer to 106)."""

    broker_addr_table: dict[str, BrokerData] = field(default_factory=dict)
    cluster_addr_table: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicList:
    """Names of topics (answer to 206, 224, 304, 305 ...)."""

    topic_list: tuple[str, ...] = ()
    broker_addr: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KVTable:
    """Texts by name (answer to 28, 103 and 219)."""

    table: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterBrokerBody:
    """The topics and filter servers of a broker that registers (103)."""

    topic_config_serialize_wrapper: TopicConfigSerializeWrapper = field(default_factory=TopicConfigSerializeWrapper)
    filter_server_list: tuple[str, ...] = ()


def encode_registration(body: RegisterBrokerBody, *, compressed: bool) -> bytes:
    """Write a registration: JSON, or the zlib stream that a header with compressed=true announces.

    Raises:
        BodyInvalid: a topic name has a blank, which the compressed form cannot hold.
    """
    if not compressed:
        return encode_body(body)
    wrapper = body.topic_config_serialize_wrapper
    parts = [_counted(encode_body(wrapper.data_version)), _INT32.pack(len(wrapper.topic_config_table))]
    parts += [_counted(_topic_text(topic)) for topic in wrapper.topic_config_table.values()]
    parts.append(_counted(dumps(body.filter_server_list)))
    return zlib.compress(b"".join(parts))


def decode_registration(data: bytes, *, compressed: bool, most: int) -> RegisterBrokerBody:
    """Read a registration in the form that its header announces.

    Args:
        data: The body.
        compressed: Whether it is a zlib stream.
        most: The most bytes, inflated. The cost depends on the topics too: there may be no more than a broker writes in
            so many bytes.

    Raises:
        RegistrationTooLarge: it is longer, or has more topics.
        BodyInvalid: the bytes are not a registration of that form.
    """
    most_topics = most // _BYTES_PER_TOPIC
    if not compressed:
        if len(data) > most or data.count(b"{") > 2 * most_topics + _OTHER_OBJECTS:
            raise RegistrationTooLarge(f"registration of {len(data)} bytes is too large")
        try:
            return decode_body(RegisterBrokerBody, data)
        except EntriesTooMany:
            return _of_many_topics(data)
    reader = _Counted(_inflate(data, most))
    version = decode_body(DataVersion, reader.item())
    number = reader.number()
    if number > most_topics:
        raise RegistrationTooLarge(f"registration of {number} topics is too large")
    topics = [_topic_from_text(reader.item()) for _ in range(number)]
    filters = loads(reader.item(), lenient_limit=LENIENT_LIMIT, most_entries=MAX_JSON_ENTRIES)
    if not isinstance(filters, list):
        raise BodyInvalid("registration: the list of filter servers is no JSON array")
    reader.end()
    return RegisterBrokerBody(
        topic_config_serialize_wrapper=TopicConfigSerializeWrapper(
            data_version=version, topic_config_table={topic.topic_name: topic for topic in topics}
        ),
        filter_server_list=tuple(_filter_text(each) for each in filters),
    )


class _RawTopic(msgspec.Struct, rename="camel", gc=False):
    """A topic's configuration whose values are still JSON; empty: it has none. Other members are skipped."""

    topic_name: msgspec.Raw = msgspec.Raw()
    read_queue_nums: msgspec.Raw = msgspec.Raw()
    write_queue_nums: msgspec.Raw = msgspec.Raw()
    perm: msgspec.Raw = msgspec.Raw()
    topic_filter_type: msgspec.Raw = msgspec.Raw()
    topic_sys_flag: msgspec.Raw = msgspec.Raw()
    order: msgspec.Raw = msgspec.Raw()
    attributes: msgspec.Raw = msgspec.Raw()


class _RawWrapper(msgspec.Struct, rename="camel"):
    topic_config_table: dict[str, _RawTopic] = {}
    data_version: msgspec.Raw = msgspec.Raw()


class _RawRegistration(msgspec.Struct, rename="camel"):
    topic_config_serialize_wrapper: _RawWrapper = msgspec.field(default_factory=_RawWrapper)
    filter_server_list: msgspec.Raw = msgspec.Raw()


_decode_raw: Final = msgspec.json.Decoder(_RawRegistration).decode


def _of_many_topics(data: bytes) -> RegisterBrokerBody:
    """Read a registration in JSON piece by piece: members that a broker does not write are only skipped."""
    try:
        found = _decode_raw(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise BodyInvalid(f"registration of {len(data)} bytes is not as a broker writes it: {error}") from error
    wrapper = found.topic_config_serialize_wrapper
    topics = {name: _topic_of(raw) for name, raw in wrapper.topic_config_table.items()}
    others = {"dataVersion": _piece(wrapper.data_version)}
    rest = {"filterServerList": _piece(found.filter_server_list), "topicConfigSerializeWrapper": others}
    body = from_builtins(RegisterBrokerBody, rest)
    return replace(
        body, topic_config_serialize_wrapper=replace(body.topic_config_serialize_wrapper, topic_config_table=topics)
    )


def _topic_of(raw: _RawTopic) -> TopicConfig:
    values = msgspec.structs.asdict(raw)
    return from_builtins(TopicConfig, {camel_case(name): _piece(value) for name, value in values.items()})


def _piece(raw: msgspec.Raw) -> Json:
    return loads(memoryview(raw), most_entries=MAX_JSON_ENTRIES) if memoryview(raw) else None


def _counted(data: bytes) -> bytes:
    return _INT32.pack(len(data)) + data


def _filter_text(value: Json) -> str:
    try:
        return to_text(value)
    except ValueError as error:
        raise BodyInvalid(f"registration: filter server {error}") from error


def _topic_text(topic: TopicConfig) -> bytes:
    words = (
        topic.topic_name,
        str(topic.read_queue_nums),
        str(topic.write_queue_nums),
        str(topic.perm),
        topic.topic_filter_type,
    )
    text = " ".join(words)
    if len(text.split(" ")) != _TOPIC_WORDS or not topic.topic_name:
        raise BodyInvalid(f"registration: topic name {topic.topic_name!r} cannot be written")
    return text.encode("utf-8", "replace")


def _topic_from_text(data: bytes) -> TopicConfig:
    words = data.decode("utf-8", "replace").split(" ")
    try:
        name, read, write, perm, kind = words
        return TopicConfig(
            topic_name=name,
            read_queue_nums=to_int32(read),
            write_queue_nums=to_int32(write),
            perm=to_int32(perm),
            topic_filter_type=TopicFilterType(kind),
        )
    except ValueError as error:
        raise BodyInvalid(f"registration: {data[:100]!r} is no topic") from error


def _inflate(data: bytes, most: int) -> bytes:
    inflater = zlib.decompressobj()
    try:
        result = inflater.decompress(data, most + 1)
    except zlib.error as error:
        raise BodyInvalid(f"registration cannot be inflated: {error}") from error
    if len(result) > most:
        raise RegistrationTooLarge(f"registration of more than {most} bytes is too large")
    if not inflater.eof:
        raise BodyInvalid("registration is cut short")
    return result


class _Counted:
    """Consecutive items, each after its length."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def number(self) -> int:
        if self.at + _INT32.size > len(self.data):
            raise BodyInvalid("registration is cut short")
        number: int = _INT32.unpack_from(self.data, self.at)[0]
        self.at += _INT32.size
        return number

    def item(self) -> bytes:
        length = self.number()
        if not 0 <= length <= len(self.data) - self.at:
            raise BodyInvalid(f"registration has an item of {length} bytes where {len(self.data) - self.at} are left")
        self.at += length
        return self.data[self.at - length : self.at]

    def end(self) -> None:
        if self.at != len(self.data):
            raise BodyInvalid("registration has more bytes than it says")
