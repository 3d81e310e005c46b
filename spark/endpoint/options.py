"""The options of endpoints: for connecting, and for sending."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from rocketwire.remoting.credentials import Credentials
from rocketwire.spark.errors import OptionInvalid
from rocketwire.spark.request import values
from rocketwire.wire.names import group_name_error

#: The options that only endpoints have, as documentation spells them.
OPTIONS: Final = ("namesrv", "accessKey", "secretKey", "endpointTimeoutMs", "consumerGroup")
WRITE_OPTIONS: Final = (*OPTIONS[:4], "topic", "retries", "maxBatchBytes", "maxMessageSize")
_OF_SPARK: Final = ("__", "spark.", "checkpointlocation")
#: The group that RocketMQ's own tools pull with; every broker has it, and no client commits offsets for it.
_TOOLS_GROUP: Final = "TOOLS_CONSUMER"
_TIMEOUT_MS: Final = "15000"
_MOST_TIMEOUT_MS: Final = 600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointOptions:
    """The parameters of connections to an endpoint.

    Attributes:
        name_servers: Their addresses, with `;` between them.
        timeout: Seconds that connecting may take, and each answer.
        credentials: The account that signs requests; None without access control.
        group: The consumer group in whose name messages are pulled. Its offsets are neither read nor changed.
    """

    name_servers: str
    timeout: float
    credentials: Credentials | None = None
    group: str = _TOOLS_GROUP


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """The parameters of sending.

    Attributes:
        endpoint: How the endpoint is reached.
        topic: The topic of messages whose row names none.
        retries: How often unacknowledged messages are sent again.
        max_batch_bytes: Most bytes of one request with several messages.
        max_message_size: Most bytes of a body; a larger one is refused before it is sent.
    """

    endpoint: EndpointOptions
    topic: str | None
    retries: int
    max_batch_bytes: int
    max_message_size: int


def endpoint_options(options: Mapping[str, str]) -> EndpointOptions:
    """Parse the options of the connection; other options are ignored.

    Raises:
        OptionInvalid: a value is none of its option.
    """
    given = {name.lower(): text for name, text in options.items()}
    name_servers = given.get("namesrv", "").strip()
    if not name_servers:
        raise OptionInvalid("the option namesrv is missing", "Give it the address of a name server, HOST:PORT")
    access_key, secret_key = given.get("accesskey", ""), given.get("secretkey", "")
    if bool(access_key) != bool(secret_key):
        raise OptionInvalid("one of the options accessKey and secretKey is missing", "Give both, or none")
    group = given.get("consumergroup", _TOOLS_GROUP)
    problem = group_name_error(group)
    if problem is not None:
        values.invalid("consumerGroup", group, problem)
    timeout = values.whole(
        "endpointTimeoutMs", given.get("endpointtimeoutms", _TIMEOUT_MS), least=1, most=_MOST_TIMEOUT_MS
    )
    return EndpointOptions(
        name_servers=name_servers,
        timeout=timeout / 1000,
        credentials=Credentials(access_key=access_key, secret_key=secret_key) if access_key else None,
        group=group,
    )


def write_options(options: Mapping[str, str]) -> WriteOptions:
    """The options of a write.

    Raises:
        OptionInvalid: there is no such option, `namesrv` is missing, or a value is invalid.
    """
    known = {name.lower() for name in WRITE_OPTIONS}
    for name, text in options.items():
        if name.lower() == "path" and text.strip():
            raise OptionInvalid(
                f"messages cannot be written to the path {text}", "Give the option namesrv, and no path"
            )
        if name.lower() not in known | {"path"} and not name.lower().startswith(_OF_SPARK):
            hint = values.nearest(name, WRITE_OPTIONS) or "docs/spark.md lists the options"
            raise OptionInvalid(f"there is no option {name} of writing", hint.strip())
    given = {name.lower(): text for name, text in options.items()}
    return WriteOptions(
        endpoint=endpoint_options(options),
        topic=given.get("topic", "").strip() or None,
        retries=values.whole("retries", given.get("retries", "3"), most=1000),
        max_batch_bytes=values.size("maxBatchBytes", given.get("maxbatchbytes", "1m")),
        max_message_size=values.size("maxMessageSize", given.get("maxmessagesize", "4m")),
    )
