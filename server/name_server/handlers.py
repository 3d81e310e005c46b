"""Requests to the name server: routes (105, 106, 206), brokers (103, 104, 322), key-values (100-102, 219)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeAlias

from rocketwire.remoting.core.steps import Operation
from rocketwire.server.core.errors import BodyRejected, NotFound, response_code
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.core.long_tasks import (
    LARGE_BODY_BYTES,
    InThread,
    ReplyOperation,
    encode_answer,
    json_size_of_texts,
    parse_body,
)
from rocketwire.server.core.request import Peer, Reply, Request
from rocketwire.server.core.route import RequestRoutes
from rocketwire.server.limits.limits import Limits
from rocketwire.server.name_server.config import NameServerConfig
from rocketwire.server.name_server.key_values import Done, KeyValueConfig
from rocketwire.server.name_server.routes import BrokerIdentity, RouteTable, queues_of
from rocketwire.store.errors import StoreError
from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.route import (
    KVTable,
    QueueData,
    RegisterBrokerBody,
    TopicList,
    TopicRouteData,
    decode_registration,
)
from rocketwire.wire.bodies.topic import DataVersion
from rocketwire.wire.errors import RegistrationTooLarge
from rocketwire.wire.facts.codes import STRICT_JSON_VERSION, RequestCode
from rocketwire.wire.headers import route as headers
from rocketwire.wire.message import body_crc

_ORDER_NAMESPACE: Final = "ORDER_TOPIC_CONFIG"
_REGISTRATION: Final = "maxRegistrationBytes"
_LEAST_BROKER: Final = 150  # bytes of one broker in a route, without its names


@dataclass(frozen=True, slots=True, kw_only=True)
class NameServerServices:
    """The services of these requests."""

    routes: RouteTable
    key_values: KeyValueConfig
    limits: Limits
    config: NameServerConfig


family: Final = RequestRoutes[NameServerServices]("name server")


@family.route(
    RequestCode.GET_ROUTEINFO_BY_TOPIC,
    header=headers.GetRouteInfoRequestHeader,
    summary="the brokers and queues of a topic",
)
def _route(services: NameServerServices, request: Request[headers.GetRouteInfoRequestHeader]) -> ReplyOperation:
    fields = request.fields
    found = services.routes.route(fields.topic, request.peer)
    order = services.key_values.get(_ORDER_NAMESPACE, fields.topic)
    if order is not None and services.config.order_messages:
        found = replace(found, order_topic_conf=order)
    strict = request.header.version >= STRICT_JSON_VERSION or bool(fields.accept_standard_json_only)
    return _route_reply(found, strict=strict)


def _route_reply(found: TopicRouteData, *, strict: bool) -> ReplyOperation:
    servers = found.filter_server_table.values()
    least = (
        _LEAST_BROKER * len(found.broker_datas)
        + sum(map(json_size_of_texts, servers))
        + len(found.order_topic_conf or "")
    )
    body = yield from encode_answer(found, len(found.broker_datas) + len(servers), least, strict=strict)
    return Reply(body=(body,))


@family.route(
    RequestCode.REGISTER_BROKER,
    header=headers.RegisterBrokerRequestHeader,
    response=headers.RegisterBrokerResponseHeader,
    summary="register a broker and its topics",
)
def _register(services: NameServerServices, request: Request[headers.RegisterBrokerRequestHeader]) -> ReplyOperation:
    fields, most = request.fields, services.limits.keys.current.max_registration_bytes
    if len(request.body) > most:
        raise LimitExceeded(_REGISTRATION, most)
    body = bytes(request.body)
    if fields.body_crc32 and body_crc(body) != fields.body_crc32:
        raise BodyRejected("crc32 not match")
    return _registered(services, fields, request.peer, body)


def _registered(
    services: NameServerServices, fields: headers.RegisterBrokerRequestHeader, peer: Peer, body: bytes
) -> ReplyOperation:
    registration, queues = (yield from _registration(services, fields, body)) if body else (RegisterBrokerBody(), None)
    if peer.closed:  # its registration would outlive the connection
        return Reply()
    registered = services.routes.register(
        _identity(fields),
        queues=queues,
        data_version=registration.topic_config_serialize_wrapper.data_version,
        ha_address=fields.ha_server_addr,
        filter_servers=registration.filter_server_list,
        peer=peer,
    )
    order = services.key_values.namespace(_ORDER_NAMESPACE)
    orders = yield from _encode_table(order or {})
    return Reply(
        fields=headers.RegisterBrokerResponseHeader(
            ha_server_addr=registered.ha_server_address, master_addr=registered.master_address
        ),
        body=(orders,) if order else (),
    )


_Registered: TypeAlias = tuple[RegisterBrokerBody, dict[str, QueueData] | None]
"""A registration, and the queues of its topics."""


def _registration(
    services: NameServerServices, fields: headers.RegisterBrokerRequestHeader, body: bytes
) -> Operation[_Registered]:
    most = services.limits.keys.current.max_registration_bytes
    read = partial(_decode_registration, fields.broker_name, body, compressed=fields.compressed, most=most)
    try:
        # A short compressed one may be long.
        return (yield InThread(read)) if fields.compressed or len(body) > LARGE_BODY_BYTES else read()
    except RegistrationTooLarge as error:
        raise LimitExceeded(_REGISTRATION, most) from error


def _decode_registration(broker: str, body: bytes, *, compressed: bool, most: int) -> _Registered:
    registration = decode_registration(body, compressed=compressed, most=most)
    return registration, queues_of(broker, registration.topic_config_serialize_wrapper.topic_config_table)


def _encode_table(table: dict[str, str]) -> Operation[bytes]:
    least = json_size_of_texts(table) + json_size_of_texts(table.values())
    return (yield from encode_answer(KVTable(table=table), len(table), least))


@family.route(
    RequestCode.UNREGISTER_BROKER, header=headers.UnRegisterBrokerRequestHeader, summary="unregister a broker"
)
def _unregister(services: NameServerServices, request: Request[headers.UnRegisterBrokerRequestHeader]) -> Reply:
    services.routes.unregister(_identity(request.fields))
    return Reply()


@family.route(
    RequestCode.QUERY_DATA_VERSION,
    header=headers.QueryDataVersionRequestHeader,
    response=headers.QueryDataVersionResponseHeader,
    summary="whether a broker's topics have changed",
)
def _data_version(
    services: NameServerServices, request: Request[headers.QueryDataVersionRequestHeader]
) -> ReplyOperation:
    return _version_reply(services, request.fields, parse_body(DataVersion, request.body))


def _version_reply(
    services: NameServerServices, fields: headers.QueryDataVersionRequestHeader, read: Operation[DataVersion]
) -> ReplyOperation:
    changed = services.routes.changed(_identity(fields), (yield from read))
    known = services.routes.data_version(fields.broker_addr)
    return Reply(
        fields=headers.QueryDataVersionResponseHeader(changed=changed),
        body=(encode_body(known),) if known is not None else (),
    )


def _identity(
    fields: headers.RegisterBrokerRequestHeader
    | headers.UnRegisterBrokerRequestHeader
    | headers.QueryDataVersionRequestHeader,
) -> BrokerIdentity:
    return BrokerIdentity(
        cluster=fields.cluster_name, name=fields.broker_name, broker_id=fields.broker_id, address=fields.broker_addr
    )


@family.route(RequestCode.GET_BROKER_CLUSTER_INFO, summary="all brokers and clusters")
def _clusters(services: NameServerServices, request: Request[None]) -> ReplyOperation:
    body = services.routes.clusters(request.peer)
    brokers = body.broker_addr_table
    return Reply(body=((yield from encode_answer(body, len(brokers), 2 * json_size_of_texts(brokers))),))


@family.route(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, summary="the names of all topics")
def _topics(services: NameServerServices, _request: Request[None]) -> ReplyOperation:
    topics = tuple(services.routes.topics())
    return Reply(
        body=((yield from encode_answer(TopicList(topic_list=topics), len(topics), json_size_of_texts(topics))),)
    )


@family.route(RequestCode.PUT_KV_CONFIG, header=headers.PutKVConfigRequestHeader, summary="set a value")
def _put_value(services: NameServerServices, request: Request[headers.PutKVConfigRequestHeader]) -> None:
    fields = request.fields
    services.key_values.put(fields.namespace, fields.key, fields.value, _answer(request.held()))


@family.route(
    RequestCode.GET_KV_CONFIG,
    header=headers.GetKVConfigRequestHeader,
    response=headers.GetKVConfigResponseHeader,
    summary="get a value",
)
def _get_value(services: NameServerServices, request: Request[headers.GetKVConfigRequestHeader]) -> Reply:
    fields = request.fields
    value = services.key_values.get(fields.namespace, fields.key)
    if value is None:
        raise NotFound(f"No config item, Namespace: {fields.namespace} Key: {fields.key}")
    return Reply(fields=headers.GetKVConfigResponseHeader(value=value))


@family.route(RequestCode.DELETE_KV_CONFIG, header=headers.DeleteKVConfigRequestHeader, summary="delete a value")
def _delete_value(services: NameServerServices, request: Request[headers.DeleteKVConfigRequestHeader]) -> None:
    services.key_values.delete(request.fields.namespace, request.fields.key, _answer(request.held()))


def _answer(request: Request[None]) -> Done:
    def done(error: StoreError | None) -> None:
        request.peer.reply(request, Reply() if error is None else Reply(code=response_code(error), remark=str(error)))
        request.peer.flush()

    return done


@family.route(
    RequestCode.GET_KVLIST_BY_NAMESPACE,
    header=headers.GetKVListByNamespaceRequestHeader,
    summary="all values of a namespace",
)
def _values(
    services: NameServerServices, request: Request[headers.GetKVListByNamespaceRequestHeader]
) -> ReplyOperation:
    table = services.key_values.namespace(request.fields.namespace)
    if table is None:
        raise NotFound(f"No config item, Namespace: {request.fields.namespace}")
    return _values_reply(table)


def _values_reply(table: dict[str, str]) -> ReplyOperation:
    return Reply(body=((yield from _encode_table(table)),))
