"""Every request code served, one table a family, listed openly.

A family is a module with a `ROUTES` tuple. The README's table is made from `FAMILIES`; a code that
has a name but no handler stands in `UNSUPPORTED`, and a test holds both against `RequestCode`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rocketwire.server.admin import groups as group
from rocketwire.server.admin import handlers as admin
from rocketwire.server.admin import progress
from rocketwire.server.clients import handlers as client
from rocketwire.server.clients import online_handlers as online
from rocketwire.server.core.route import Route
from rocketwire.server.guards.acl import handlers as access
from rocketwire.server.name_server import handlers as name_server
from rocketwire.server.offsets import handlers as offset
from rocketwire.server.pull import handlers as pull
from rocketwire.server.query import handlers as query
from rocketwire.server.retry import handlers as send_back
from rocketwire.server.send import handlers as send
from rocketwire.server.send import reply_handlers as reply
from rocketwire.server.timer import handlers as timer
from rocketwire.server.transactions import handlers as transaction
from rocketwire.wire.codes import RequestCode

BROKER_FAMILIES: Final[Mapping[str, tuple[Route, ...]]] = {
    "send": send.ROUTES,
    "reply": reply.ROUTES,
    "pull": pull.ROUTES,
    "send back": send_back.ROUTES,
    "transaction": transaction.ROUTES,
    "timer": timer.ROUTES,
    "offset": offset.ROUTES,
    "client": client.ROUTES,
    "query": query.ROUTES,
    "group": group.ROUTES,
    "progress": progress.ROUTES,
    "online": online.ROUTES,
    "admin": admin.ROUTES,
    "access": access.ROUTES,
}
NAME_SERVER_FAMILIES: Final[Mapping[str, tuple[Route, ...]]] = {"name server": name_server.ROUTES}
FAMILIES: Final[Mapping[str, tuple[Route, ...]]] = {**BROKER_FAMILIES, **NAME_SERVER_FAMILIES}

UNSUPPORTED: Final = frozenset(
    {
        RequestCode.QUERY_BROKER_OFFSET,
        RequestCode.UPDATE_AND_CREATE_TOPIC_LIST,
        RequestCode.GET_TOPIC_CONFIG_LIST,
        RequestCode.GET_TOPIC_NAME_LIST,
        RequestCode.TRIGGER_DELETE_FILES,
        RequestCode.CHECK_TRANSACTION_STATE,
        RequestCode.NOTIFY_CONSUMER_IDS_CHANGED,
        RequestCode.GET_ALL_CONSUMER_OFFSET,
        RequestCode.GET_ALL_DELAY_OFFSET,
        RequestCode.GET_CLIENT_CONFIG,
        RequestCode.WIPE_WRITE_PERM_OF_BROKER,
        RequestCode.SUSPEND_CONSUMER,
        RequestCode.RESUME_CONSUMER,
        RequestCode.RESET_CONSUMER_OFFSET_IN_CONSUMER,
        RequestCode.RESET_CONSUMER_OFFSET_IN_BROKER,
        RequestCode.ADJUST_CONSUMER_THREAD_POOL,
        RequestCode.WHO_CONSUME_THE_MESSAGE,
        RequestCode.DELETE_TOPIC_IN_BROKER,
        RequestCode.DELETE_TOPIC_IN_NAMESRV,
        RequestCode.REGISTER_TOPIC_IN_NAMESRV,
        RequestCode.RESET_CONSUMER_CLIENT_OFFSET,
        RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT,
        RequestCode.GET_TOPICS_BY_CLUSTER,
        RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST,
        RequestCode.REGISTER_FILTER_SERVER,
        RequestCode.REGISTER_MESSAGE_FILTER_CLASS,
        RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS,
        RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER,
        RequestCode.QUERY_CORRECTION_OFFSET,
        RequestCode.GET_UNIT_TOPIC_LIST,
        RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST,
        RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST,
        RequestCode.CLONE_GROUP_OFFSET,
        RequestCode.VIEW_BROKER_STATS_DATA,
        RequestCode.GET_BROKER_CONSUME_STATS,
        RequestCode.UPDATE_NAMESRV_CONFIG,
        RequestCode.GET_NAMESRV_CONFIG,
        RequestCode.QUERY_CONSUME_QUEUE,
        RequestCode.RESUME_CHECK_HALF_MESSAGE,
        RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT,
        RequestCode.ADD_WRITE_PERM_OF_BROKER,
        RequestCode.GET_ALL_PRODUCER_INFO,
        RequestCode.QUERY_TOPICS_BY_CONSUMER,
        RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER,
        RequestCode.GET_TOPIC_CONFIG,
        RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG,
        RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN,
        RequestCode.CHECK_ROCKSDB_CQ_WRITE_PROGRESS,
        RequestCode.EXPORT_ROCKSDB_CONFIG_TO_JSON,
        RequestCode.QUERY_ASSIGNMENT,
        RequestCode.SET_MESSAGE_REQUEST_MODE,
        RequestCode.GET_ALL_MESSAGE_REQUEST_MODE,
        RequestCode.UPDATE_AND_CREATE_STATIC_TOPIC,
        RequestCode.GET_BROKER_MEMBER_GROUP,
        RequestCode.ADD_BROKER,
        RequestCode.REMOVE_BROKER,
        RequestCode.BROKER_HEARTBEAT,
        RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE,
        RequestCode.EXCHANGE_BROKER_HA_INFO,
        RequestCode.GET_BROKER_HA_STATUS,
        RequestCode.RESET_MASTER_FLUSH_OFFSET,
        RequestCode.CONTROLLER_ALTER_SYNC_STATE_SET,
        RequestCode.CONTROLLER_ELECT_MASTER,
        RequestCode.CONTROLLER_REGISTER_BROKER,
        RequestCode.CONTROLLER_GET_REPLICA_INFO,
        RequestCode.CONTROLLER_GET_METADATA_INFO,
        RequestCode.CONTROLLER_GET_SYNC_STATE_DATA,
        RequestCode.GET_BROKER_EPOCH_CACHE,
        RequestCode.NOTIFY_BROKER_ROLE_CHANGED,
        RequestCode.UPDATE_CONTROLLER_CONFIG,
        RequestCode.GET_CONTROLLER_CONFIG,
        RequestCode.CLEAN_BROKER_DATA,
        RequestCode.CONTROLLER_GET_NEXT_BROKER_ID,
        RequestCode.CONTROLLER_APPLY_BROKER_ID,
        RequestCode.UPDATE_COLD_DATA_FLOW_CTR_CONFIG,
        RequestCode.REMOVE_COLD_DATA_FLOW_CTR_CONFIG,
        RequestCode.GET_COLD_DATA_FLOW_CTR_INFO,
        RequestCode.SET_COMMITLOG_READ_MODE,
        RequestCode.AUTH_CREATE_USER,
        RequestCode.AUTH_UPDATE_USER,
        RequestCode.AUTH_DELETE_USER,
        RequestCode.AUTH_GET_USER,
        RequestCode.AUTH_LIST_USER,
        RequestCode.AUTH_CREATE_ACL,
        RequestCode.AUTH_UPDATE_ACL,
        RequestCode.AUTH_DELETE_ACL,
        RequestCode.AUTH_GET_ACL,
        RequestCode.AUTH_LIST_ACL,
        RequestCode.SWITCH_TIMER_ENGINE,
        RequestCode.POP_MESSAGE,
        RequestCode.ACK_MESSAGE,
        RequestCode.PEEK_MESSAGE,
        RequestCode.CHANGE_MESSAGE_INVISIBLETIME,
        RequestCode.NOTIFICATION,
        RequestCode.POLLING_INFO,
        RequestCode.POP_ROLLBACK,
        RequestCode.POP_LITE_MESSAGE,
        RequestCode.LITE_SUBSCRIPTION_CTL,
        RequestCode.ACK_LITE_MESSAGE,
        RequestCode.NOTIFY_UNSUBSCRIBE_LITE,
        RequestCode.GET_BROKER_LITE_INFO,
        RequestCode.GET_PARENT_TOPIC_INFO,
        RequestCode.GET_LITE_TOPIC_INFO,
        RequestCode.GET_LITE_CLIENT_INFO,
        RequestCode.GET_LITE_GROUP_INFO,
        RequestCode.TRIGGER_LITE_DISPATCH,
        RequestCode.BATCH_ACK_MESSAGE,
    }
)
"""Codes with a name that nobody serves: answered with REQUEST_CODE_NOT_SUPPORTED, like codes without one."""
