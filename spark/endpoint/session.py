"""Requests to an endpoint: temporary failures are retried, permanent ones become errors of the source."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

from rocketwire.remoting.cluster import BlockingCluster
from rocketwire.remoting.errors import NameServersInvalid, NoBroker, NoSuchTopic, NotReached, Refused, RemotingError
from rocketwire.spark.endpoint.options import EndpointOptions
from rocketwire.spark.errors import EndpointRefused, EndpointUnreachable, OptionInvalid, TopicUnknown
from rocketwire.wire.errors import WireError
from rocketwire.wire.facts.codes import ResponseCode

T = TypeVar("T")
Sleep = Callable[[float], object]

BUSY: Final = frozenset({ResponseCode.SYSTEM_BUSY, ResponseCode.FLOW_CONTROL})
"""Codes that mean: try later."""
_PAUSE: Final = 0.25
_LONGEST_PAUSE: Final = 5.0
_TRIES: Final = 5
"""How often a failing request is tried."""
BUSY_TRIES: Final = 12
"""The same if the broker is busy."""


def pause(failures: int) -> float:
    """Seconds to wait after so many consecutive failures: twice as long each time, up to five seconds."""
    return min(_LONGEST_PAUSE, _PAUSE * 2.0 ** (failures - 1))


class RetryPauses:
    """The pauses between retries, and their number; a success resets them."""

    def __init__(self, sleep: Sleep = time.sleep) -> None:
        self._sleep = sleep
        self._failures = 0
        self._refusals = 0

    def reset(self) -> None:
        """Reset after a success."""
        self._failures = self._refusals = 0

    def wait_after(self, error: RemotingError) -> None:
        """Wait because of an error that may pass.

        Raises:
            RemotingError: the given one: it is permanent, or came too often.
        """
        if isinstance(error, Refused) and error.code in BUSY:
            self._refusals += 1
            last = self._refusals >= BUSY_TRIES
        else:
            self._failures += 1
            last = self._failures >= _TRIES or not isinstance(error, NotReached | NoBroker)
        if last:
            raise error
        self._sleep(pause(self._failures + self._refusals))


def call_endpoint(
    endpoint: EndpointOptions, requests: Callable[[BlockingCluster], T], *, sleep: Sleep = time.sleep
) -> T:
    """The result of some requests to an endpoint; all of them are repeated when a connection fails.

    Raises:
        SparkSourceError: it does not answer, or refuses.
    """
    patience = RetryPauses(sleep)
    with source_errors(endpoint):
        while True:
            try:
                with contextlib.closing(opened(endpoint)) as cluster:
                    return requests(cluster)
            except RemotingError as error:
                patience.wait_after(error)


def opened(endpoint: EndpointOptions) -> BlockingCluster:
    """A new connection to the first name server that answers.

    Raises:
        NotReached: none does.
        NameServersInvalid: an address is invalid.
    """
    return BlockingCluster(endpoint.name_servers, timeout=endpoint.timeout, credentials=endpoint.credentials)


@contextlib.contextmanager
def source_errors(endpoint: EndpointOptions) -> Iterator[None]:
    """Convert errors of the endpoint to those of the data source.

    Raises:
        SparkSourceError: there was one.
    """
    try:
        yield
    except NameServersInvalid as error:
        raise OptionInvalid(f"option {error}", "Give namesrv as HOST:PORT, several of them with ; between") from error
    except NoSuchTopic as error:
        raise TopicUnknown(str(error), "Check the options topic and namesrv, or create the topic") from error
    except (NotReached, NoBroker) as error:
        raise EndpointUnreachable(
            str(error),
            f"Check that {endpoint.name_servers} runs, and that driver and executors reach it and the addresses that "
            "its brokers advertise; the option endpointTimeoutMs says how long an answer may take",
        ) from error
    except Refused as error:
        raise EndpointRefused(str(error), _REMEDIES.get(error.code, _ANY_REMEDY)) from error
    except WireError as error:
        raise EndpointRefused(f"the endpoint's answer cannot be read: {error}", "See the log of the broker") from error


_ANY_REMEDY: Final = (
    "See the log of the broker; where it controls access, give the options accessKey and secretKey of an account that "
    "may do this"
)
_REMEDIES: Final[dict[int, str]] = {
    ResponseCode.NO_PERMISSION: "Grant the permission, or choose other topics",
    ResponseCode.TOPIC_NOT_EXIST: "Check the options topic and namesrv, or create the topic",
    ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST: "Create the group, or give another by the option consumerGroup",
    ResponseCode.SYSTEM_BUSY: "Ask for less at once (fewer tasks), or raise what the broker allows",
    ResponseCode.FLOW_CONTROL: "Ask for less at once (fewer tasks), or raise the broker's quota",
}
