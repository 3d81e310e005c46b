"""Requests of access control: accounts (50, 51, 54), their version (52), addresses without account (53)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.errors import ServerError, response_code
from rocketwire.server.core.guard_errors import ITEMS, MOST_ITEMS, AccessOpen, LimitExceeded
from rocketwire.server.core.long_tasks import ReplyOperation, encode_answer, json_size_of_texts
from rocketwire.server.core.request import Reply, Request
from rocketwire.server.core.route import RequestRoutes
from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.acl import PlainAccessConfig
from rocketwire.wire.bodies.fastjson import dumps
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.headers.acl import (
    CreateAccessConfigRequestHeader,
    DeleteAccessConfigRequestHeader,
    GetBrokerAclConfigResponseHeader,
    GetBrokerClusterAclConfigResponseHeader,
    UpdateGlobalWhiteAddrsConfigRequestHeader,
)

if TYPE_CHECKING:  # for annotations: it needs a YAML parser, imported only where access control is on
    from rocketwire.server.acl.control import AccessControl

_LEAST_ACCOUNT: Final = 60  # bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessServices:
    """The services of account requests: `access`, None without access control, and the advertised `address`."""

    access: AccessControl | None
    address: str
    broker_keys: LiveGroup[BrokerKeys]


family: Final = RequestRoutes[AccessServices]("access")


def _access(services: AccessServices) -> AccessControl:
    if services.access is None:
        raise AccessOpen
    return services.access


def _answer(request: Request[Any]) -> Callable[[ServerError | None], None]:
    """A callback that answers a request when its change is in force."""

    def done(error: ServerError | None) -> None:
        reply = Reply() if error is None else Reply(code=response_code(error), remark=str(error))
        request.peer.reply(request, reply)
        request.peer.flush()

    return done


@family.route(
    RequestCode.UPDATE_AND_CREATE_ACL_CONFIG,
    header=CreateAccessConfigRequestHeader,
    summary="create or change an account",
)
def _update(services: AccessServices, request: Request[CreateAccessConfigRequestHeader]) -> None:
    fields = request.fields
    _access(services).update(
        PlainAccessConfig(
            access_key=fields.access_key,
            secret_key=fields.secret_key,
            white_remote_address=fields.white_remote_address,
            admin=fields.admin,
            default_topic_perm=fields.default_topic_perm,
            default_group_perm=fields.default_group_perm,
            topic_perms=_split(fields.topic_perms),
            group_perms=_split(fields.group_perms),
        ),
        _answer(request),
    )


@family.route(RequestCode.DELETE_ACL_CONFIG, header=DeleteAccessConfigRequestHeader, summary="delete an account")
def _delete(services: AccessServices, request: Request[DeleteAccessConfigRequestHeader]) -> None:
    _access(services).delete(request.fields.access_key, _answer(request))


@family.route(
    RequestCode.GET_BROKER_CLUSTER_ACL_INFO,
    response=GetBrokerAclConfigResponseHeader,
    summary="the version of the accounts",
)
def _version(services: AccessServices, _request: Request[None]) -> Reply:
    access = _access(services)
    broker = services.broker_keys.current
    version = access.version
    return Reply(
        fields=GetBrokerAclConfigResponseHeader(
            version=encode_body(version).decode(),
            all_acl_file_version=dumps({access.path: version}).decode(),
            broker_name=broker.broker_name,
            broker_addr=services.address,
            cluster_name=broker.broker_cluster_name,
        )
    )


@family.route(
    RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG,
    header=UpdateGlobalWhiteAddrsConfigRequestHeader,
    summary="set the addresses that need no account",
)
def _replace_addresses(services: AccessServices, request: Request[UpdateGlobalWhiteAddrsConfigRequestHeader]) -> None:
    fields = request.fields
    _access(services).replace_addresses(_split(fields.global_white_addrs), fields.acl_file_full_path, _answer(request))


@family.route(
    RequestCode.GET_BROKER_CLUSTER_ACL_CONFIG,
    response=GetBrokerClusterAclConfigResponseHeader,
    summary="all accounts, with their secret keys",
)
def _config(services: AccessServices, _request: Request[None]) -> ReplyOperation:
    config = _access(services).config()
    accounts, addresses = config.plain_access_configs, config.global_white_addrs
    least = _LEAST_ACCOUNT * len(accounts) + json_size_of_texts(addresses)
    return Reply(ext={}, body=((yield from encode_answer(config, len(accounts) + len(addresses), least)),))


def _split(text: str | None) -> tuple[str, ...] | None:
    """Split at commas; trailing empty parts are dropped, as in Java."""
    if text is None:
        return None
    if text.count(",") >= MOST_ITEMS:
        raise LimitExceeded(ITEMS, MOST_ITEMS)
    parts = text.split(",")
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return tuple(parts) if text.strip(",") or not text else ()
