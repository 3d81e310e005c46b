"""Headers of the name server: routes, brokers and its key-value table; codes 100 to 105, 219 and 322."""

from rocketwire.wire.headers._codec import WireHeader
from rocketwire.wire.java import Int32, Int64


class GetRouteInfoRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Ask for a topic's route (105)."""

    topic: str = ""
    accept_standard_json_only: bool | None = None


class RegisterBrokerRequestHeader(WireHeader, frozen=True, kw_only=True):
    """A broker registers (103); ``body_crc32`` is 0 when the body is not to be checked."""

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
    """Ask whether the name server knows a broker's present topics (322)."""

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
    """Ask for a value (101)."""

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
    """Ask for all values of a namespace (219)."""

    namespace: str = ""
