"""The name server: routes (105, 106, 206), brokers (103, 104, 322) and key-value configuration (100-102, 219)."""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import Final

from rocketwire.server.errors import BodyRejected, NotFound
from rocketwire.server.guard_errors import LimitExceeded
from rocketwire.server.handlers.route import Route
from rocketwire.server.request import Reply, Request
from rocketwire.server.routes import BrokerIdentity
from rocketwire.server.services import NameServerServices
from rocketwire.wire.bodies import decode_body, encode_body
from rocketwire.wire.bodies.route import KVTable, RegisterBrokerBody, TopicList, decode_registration
from rocketwire.wire.bodies.topic import DataVersion
from rocketwire.wire.codes import STRICT_JSON_VERSION, RequestCode
from rocketwire.wire.errors import RegistrationTooLarge
from rocketwire.wire.headers import route as headers

_ORDER_NAMESPACE: Final = "ORDER_TOPIC_CONFIG"
_CRC_MASK: Final = 0x7FFFFFFF


def _route(services: NameServerServices, request: Request[headers.GetRouteInfoRequestHeader]) -> Reply:
    fields = request.fields
    found = services.routes.route(fields.topic)
    order = services.key_values.get(_ORDER_NAMESPACE, fields.topic)
    if order is not None:
        found = replace(found, order_topic_conf=order)
    strict = request.header.version >= STRICT_JSON_VERSION or bool(fields.accept_standard_json_only)
    return Reply(body=(encode_body(found, strict=strict),))


def _register(services: NameServerServices, request: Request[headers.RegisterBrokerRequestHeader]) -> Reply:
    fields = request.fields
    body = bytes(request.body)
    if fields.body_crc32 and zlib.crc32(body) & _CRC_MASK != fields.body_crc32:
        raise BodyRejected("crc32 not match")
    registration = _registration(services, body, compressed=fields.compressed) if body else None
    wrapper = registration.topic_config_serialize_wrapper if registration else None
    registered = services.routes.register(
        _identity(fields),
        topics=wrapper.topic_config_table if wrapper else None,
        data_version=wrapper.data_version if wrapper else DataVersion(),
        ha_address=fields.ha_server_addr,
        filter_servers=registration.filter_server_list if registration else (),
        peer=request.peer,
    )
    order = services.key_values.namespace(_ORDER_NAMESPACE)
    return Reply(
        fields=headers.RegisterBrokerResponseHeader(
            ha_server_addr=registered.ha_server_address, master_addr=registered.master_address
        ),
        body=(encode_body(KVTable(table=order)),) if order else (),
    )


def _registration(services: NameServerServices, body: bytes, *, compressed: bool) -> RegisterBrokerBody:
    most = services.limits.config.max_registration_bytes
    try:
        return decode_registration(body, compressed=compressed, most=most)
    except RegistrationTooLarge as error:
        raise LimitExceeded("maxRegistrationBytes", most) from error


def _unregister(services: NameServerServices, request: Request[headers.UnRegisterBrokerRequestHeader]) -> Reply:
    services.routes.unregister(_identity(request.fields))
    return Reply()


def _data_version(services: NameServerServices, request: Request[headers.QueryDataVersionRequestHeader]) -> Reply:
    fields = request.fields
    changed = services.routes.changed(_identity(fields), decode_body(DataVersion, request.body))
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


def _clusters(services: NameServerServices, _request: Request[None]) -> Reply:
    return Reply(body=(encode_body(services.routes.clusters()),))


def _topics(services: NameServerServices, _request: Request[None]) -> Reply:
    return Reply(body=(encode_body(TopicList(topic_list=tuple(services.routes.topics()))),))


def _put_value(services: NameServerServices, request: Request[headers.PutKVConfigRequestHeader]) -> Reply:
    services.key_values.put(request.fields.namespace, request.fields.key, request.fields.value)
    return Reply()


def _get_value(services: NameServerServices, request: Request[headers.GetKVConfigRequestHeader]) -> Reply:
    fields = request.fields
    value = services.key_values.get(fields.namespace, fields.key)
    if value is None:
        raise NotFound(f"No config item, Namespace: {fields.namespace} Key: {fields.key}")
    return Reply(fields=headers.GetKVConfigResponseHeader(value=value))


def _delete_value(services: NameServerServices, request: Request[headers.DeleteKVConfigRequestHeader]) -> Reply:
    services.key_values.delete(request.fields.namespace, request.fields.key)
    return Reply()


def _values(services: NameServerServices, request: Request[headers.GetKVListByNamespaceRequestHeader]) -> Reply:
    table = services.key_values.namespace(request.fields.namespace)
    if table is None:
        raise NotFound(f"No config item, Namespace: {request.fields.namespace}")
    return Reply(body=(encode_body(KVTable(table=table)),))


ROUTES: Final = (
    Route(
        code=RequestCode.GET_ROUTEINFO_BY_TOPIC,
        header=headers.GetRouteInfoRequestHeader,
        handler=_route,
        heading="the brokers and queues of a topic",
    ),
    Route(
        code=RequestCode.REGISTER_BROKER,
        header=headers.RegisterBrokerRequestHeader,
        response=headers.RegisterBrokerResponseHeader,
        handler=_register,
        heading="a broker tells of itself and its topics",
    ),
    Route(
        code=RequestCode.UNREGISTER_BROKER,
        header=headers.UnRegisterBrokerRequestHeader,
        handler=_unregister,
        heading="a broker leaves",
    ),
    Route(
        code=RequestCode.QUERY_DATA_VERSION,
        header=headers.QueryDataVersionRequestHeader,
        response=headers.QueryDataVersionResponseHeader,
        handler=_data_version,
        heading="whether a broker's topics have changed",
    ),
    Route(code=RequestCode.GET_BROKER_CLUSTER_INFO, handler=_clusters, heading="all brokers and clusters"),
    Route(code=RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, handler=_topics, heading="the names of all topics"),
    Route(
        code=RequestCode.PUT_KV_CONFIG,
        header=headers.PutKVConfigRequestHeader,
        handler=_put_value,
        heading="set a value",
    ),
    Route(
        code=RequestCode.GET_KV_CONFIG,
        header=headers.GetKVConfigRequestHeader,
        response=headers.GetKVConfigResponseHeader,
        handler=_get_value,
        heading="get a value",
    ),
    Route(
        code=RequestCode.DELETE_KV_CONFIG,
        header=headers.DeleteKVConfigRequestHeader,
        handler=_delete_value,
        heading="delete a value",
    ),
    Route(
        code=RequestCode.GET_KVLIST_BY_NAMESPACE,
        header=headers.GetKVListByNamespaceRequestHeader,
        handler=_values,
        heading="all values of a namespace",
    ),
)
