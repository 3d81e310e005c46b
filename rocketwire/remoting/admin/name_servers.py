"""The name server: its configuration, its key-values, routes, and brokers' write permission."""

from __future__ import annotations

from typing import Final, TypeAlias

from rocketwire.remoting.cluster import BlockingCluster
from rocketwire.remoting.connection import BlockingConnection
from rocketwire.wire.bodies import decode_body
from rocketwire.wire.bodies.route import KVTable, TopicList
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.headers import decode_ext, route

ORDER_NAMESPACE: Final = "ORDER_TOPIC_CONFIG"
"""The namespace with the order configuration of topics: `broker:queues`, with `;` between."""
NameServerClient: TypeAlias = BlockingConnection | BlockingCluster
"""One name server, or the first of a cluster that answers."""
_FOUND: Final = (ResponseCode.SUCCESS, ResponseCode.QUERY_NOT_FOUND)


def configuration(name_server: BlockingConnection) -> str:
    """A name server's configuration (319), in Java's properties format."""
    return str(name_server.ask(RequestCode.GET_NAMESRV_CONFIG).body, "utf-8", "replace")


def change_configuration(name_server: BlockingConnection, properties: str) -> None:
    """Change keys of a name server's configuration (318), given in Java's properties format."""
    name_server.ask(RequestCode.UPDATE_NAMESRV_CONFIG, body=properties.encode())


def key_value(name_server: NameServerClient, namespace: str, key: str) -> str | None:
    """A value (101), or None."""
    fields = route.GetKVConfigRequestHeader(namespace=namespace, key=key)
    answer = name_server.ask(RequestCode.GET_KV_CONFIG, fields, fine=_FOUND)
    if answer.code != ResponseCode.SUCCESS:
        return None
    return decode_ext(route.GetKVConfigResponseHeader, answer.ext).value


def key_values(name_server: NameServerClient, namespace: str) -> dict[str, str]:
    """All values of a namespace (219) by key."""
    fields = route.GetKVListByNamespaceRequestHeader(namespace=namespace)
    answer = name_server.ask(RequestCode.GET_KVLIST_BY_NAMESPACE, fields, fine=_FOUND)
    return decode_body(KVTable, answer.body).table if answer.code == ResponseCode.SUCCESS else {}


def put_key_value(name_server: BlockingConnection, namespace: str, key: str, text: str) -> None:
    """Set a value (100)."""
    fields = route.PutKVConfigRequestHeader(namespace=namespace, key=key, value=text)
    name_server.ask(RequestCode.PUT_KV_CONFIG, fields)


def delete_key_value(name_server: BlockingConnection, namespace: str, key: str) -> None:
    """Remove a value (102); a missing one is no error."""
    fields = route.DeleteKVConfigRequestHeader(namespace=namespace, key=key)
    name_server.ask(RequestCode.DELETE_KV_CONFIG, fields)


def delete_route(name_server: BlockingConnection, topic: str) -> None:
    """Delete a topic's route (216)."""
    name_server.ask(RequestCode.DELETE_TOPIC_IN_NAMESRV, route.DeleteTopicFromNamesrvRequestHeader(topic=topic))


def topics_of_cluster(name_server: NameServerClient, cluster: str) -> list[str]:
    """The names of a cluster's topics (224), in order."""
    fields = route.GetTopicsByClusterRequestHeader(cluster=cluster)
    body = name_server.ask(RequestCode.GET_TOPICS_BY_CLUSTER, fields).body
    return sorted(decode_body(TopicList, body, most_entries=None).topic_list)


def wipe_write_permission(name_server: BlockingConnection, broker: str) -> int:
    """Take the permission to write from the routes of a broker's topics (205); how many topics it has."""
    answer = name_server.ask(
        RequestCode.WIPE_WRITE_PERM_OF_BROKER, route.WipeWritePermOfBrokerRequestHeader(broker_name=broker)
    )
    return decode_ext(route.WipeWritePermOfBrokerResponseHeader, answer.ext).wipe_topic_count


def add_write_permission(name_server: BlockingConnection, broker: str) -> int:
    """Give the routes of a broker's topics the permissions to read and write (327); how many topics it has."""
    answer = name_server.ask(
        RequestCode.ADD_WRITE_PERM_OF_BROKER, route.AddWritePermOfBrokerRequestHeader(broker_name=broker)
    )
    return decode_ext(route.AddWritePermOfBrokerResponseHeader, answer.ext).add_topic_count
