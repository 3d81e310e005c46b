"""Keys of the broker's identity, its topics, groups and messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rocketwire.server.config.keys import NEWER, OURS, key
from rocketwire.wire.addresses import MAX_PORT
from rocketwire.wire.codes import MAX_FRAME_LENGTH

LARGEST_BODY: Final = MAX_FRAME_LENGTH - 64 * 1024
"""The largest body of one frame: the rest is for the header and a record's own fields and properties."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerKeys:
    """The broker, its topics and groups, and their messages. Times are milliseconds, sizes are bytes."""

    # Who and where the broker is.
    broker_name: str = key("the name by which clients know the broker's queues", default="broker-a")
    broker_cluster_name: str = key("the cluster the broker belongs to", default="DefaultCluster")
    broker_id: int = key("0 is the master's", default=0, form=("0", "0: this broker is always a master"))
    bind_address: str = key("the host the broker listens on", default="127.0.0.1", known=NEWER)
    listen_port: int = key("the port the broker listens on; 0 is any free one", default=10911, high=MAX_PORT)
    broker_ip1: str = key("the address that clients get; empty: the host listened on", name="brokerIP1", default="")
    fast_remoting: bool = key(
        "listen on listenPort - 2 too, where clients with the VIP channel connect", default=True, known=OURS
    )
    broker_permission: int = key("2 write, 4 read, 6 both", default=6, low=2, high=6, online=True)
    region_id: str = key("sent to producers with each answer", default="DefaultRegion")
    trace_on: bool = key("sent to producers with each answer: whether to trace", default=True)

    # Topics and groups.
    auto_create_topic_enable: bool = key("a send to a new topic creates it", default=True, online=True)
    default_topic_queue_nums: int = key(
        "most queues of a topic made by a send", default=8, low=1, high=65535, online=True
    )
    auto_create_subscription_group: bool = key("a new consumer group is accepted", default=True, online=True)
    cluster_topic_enable: bool = key("the topic named like the cluster exists", default=True)
    broker_topic_enable: bool = key("the topic named like the broker exists", default=True)
    trace_topic_enable: bool = key("the trace topic exists", default=False)
    msg_trace_topic_name: str = key("the trace topic's name", default="RMQ_SYS_TRACE_TOPIC")
    notify_consumer_ids_changed_enable: bool = key(
        "notify a group's consumers when one joins or leaves", default=True, online=True
    )
    flush_consumer_offset_interval: int = key("ms between two writes of the consumer offsets", default=5000, low=1)
    flush_delay_offset_interval: int = key("ms between two writes of the delay levels' offsets", default=10_000, low=1)

    # Messages.
    enable_topic_message_type_check: bool = key(
        "refuse messages of another type than the topic's attribute message.type says",
        default=True,
        online=True,
        known=OURS,
    )
    max_message_size: int = key(
        "largest message body in bytes", default=4 * 1024 * 1024, low=1, high=LARGEST_BODY, online=True
    )
    max_transfer_count_on_message_in_memory: int = key("most messages in one pull answer", default=32, low=1)
    max_transfer_bytes_on_message_in_memory: int = key(
        "most bytes in one pull answer of several messages", default=256 * 1024, low=1, high=LARGEST_BODY
    )
    max_transfer_count_on_message_in_disk: int = key(
        "the same for messages so old that they are read from the disk", default=8, low=1
    )
    max_transfer_bytes_on_message_in_disk: int = key(
        "the same for messages so old that they are read from the disk", default=64 * 1024, low=1, high=LARGEST_BODY
    )
    access_message_in_memory_max_ratio: int = key(
        "percent of memory; messages further back in the commit log count as on disk", default=40, high=100
    )
    store_reply_message_enable: bool = key(
        "store replies to requests, in the topic named like the cluster with _REPLY_TOPIC", default=True, online=True
    )
    reject_transaction_message: bool = key("refuse transactional messages, with code 16", default=False, online=True)
    transaction_time_out: int = key("ms from the birth of a half message to its first check", default=6000, online=True)
    transaction_check_interval: int = key("ms between two rounds of such checks", default=60_000, low=1, online=True)
    transaction_check_max: int = key(
        "most checks of a half message; then it goes to TRANS_CHECK_MAX_TIME_TOPIC", default=15, online=True
    )
    enable_property_filter: bool = key("consumers may filter by SQL92 expressions", default=True, online=True)
    filter_support_retry: bool = key(
        "apply the SQL92 filter of the original topic to retried messages, too", default=False, online=True
    )
    default_query_max_num: int = key("most messages in one answer to a query", default=32, low=1, online=True)
    long_polling_enable: bool = key(
        "a pull without messages waits for its own time-out, 60 s at most", default=True, online=True
    )
    short_polling_time_mills: int = key("ms it waits when longPollingEnable is false", default=1000, online=True)
