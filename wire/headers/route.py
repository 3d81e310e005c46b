"""Headers of the name server: codes 100 to 105, 205, 216, 219, 224, 322 and 327."""

from rocketwire.wire.headers._codec import WireHeader
from rocketwire.wire.java import Int32, Int64


class GetRouteInfoRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Request a topic's route (105)."""

    topic: str = ""
    accept_standard_json_only: bool | None = None


class CallRouteRequestHeader(GetRouteInfoRequestHeader, frozen=True, kw_only=True):
    """Request a topic on behalf of a gRPC call, with what its client wants to do there; no frame has it.

    ``permission`` has the bits of permissions of which the client needs one for the topic, and which it
    needs for the consumer group as well, if there is one.
    """

    permission: Int32
    consumer_group: str | None = None


class RegisterBrokerRequestHeader(WireHeader, frozen=True, kw_only=True):
    """A broker registers (103); ``body_crc32`` is 0 when the body is not checked."""

    broker_name: str
    broker_addr: str
    cluster_name: str
    ha_server_addr: str
    broker_id: Int64
    compressed: bool = False
    body_crc32: Int32 | None = None


class RegisterBrokerResponseHeader(WireHeader, frozen=True, kw_only=True):
    """The master's addresses, for a slave."""

    ha_server_addr: str | None = None
    master_addr: str | None = None


class UnRegisterBrokerRequestHeader(WireHeader, frozen=True, kw_only=True):
    """A broker unregisters (104)."""

    broker_name: str
    broker_addr: str
    cluster_name: str
    broker_id: Int64


class QueryDataVersionRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Query whether the name server knows a broker's present topics (322)."""

    broker_name: str
    broker_addr: str
    cluster_name: str
    broker_id: Int64 = 0


class QueryDataVersionResponseHeader(WireHeader, frozen=True, kw_only=True):
    """True when the broker has to register again."""

    changed: bool


class PutKVConfigRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Store a value (100)."""

    namespace: str
    key: str
    value: str


class GetKVConfigRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Request a value (101)."""

    namespace: str = ""
    key: str = ""


class GetKVConfigResponseHeader(WireHeader, frozen=True, kw_only=True):
    """The value, None when there is none."""

    value: str | None = None


class DeleteKVConfigRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Delete a value (102)."""

    namespace: str = ""
    key: str = ""


class GetKVListByNamespaceRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Request all values of a namespace (219)."""

    namespace: str = ""


class DeleteTopicFromNamesrvRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Delete a topic's route (216); 5.x's tools name the cluster whose brokers lose it."""

    topic: str = ""
    cluster_name: str | None = None


class WipeWritePermOfBrokerRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Take the permission to write from all topics of a broker (205)."""

    broker_name: str = ""


class WipeWritePermOfBrokerResponseHeader(WireHeader, frozen=True, kw_only=True):
    """How many topics the broker has."""

    wipe_topic_count: Int32


class AddWritePermOfBrokerRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Give all topics of a broker the permissions to read and write (327)."""

    broker_name: str = ""


class AddWritePermOfBrokerResponseHeader(WireHeader, frozen=True, kw_only=True):
    """How many topics the broker has."""

    add_topic_count: Int32


class GetTopicsByClusterRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Request the topics of a cluster's brokers (224)."""

    cluster: str = ""
