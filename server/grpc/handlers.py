"""What the broker serves for gRPC only: clients of the remoting protocol get routes from the name server (105)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rocketwire.server.core.errors import TopicNotFound
from rocketwire.server.core.request import Reply, Request
from rocketwire.server.core.route import RequestRoutes
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.headers.route import CallRouteRequestHeader


@dataclass(frozen=True, slots=True, kw_only=True)
class GrpcRouteServices:
    """The services of these requests."""

    topics: BrokerTopics


family: Final = RequestRoutes[GrpcRouteServices]("route")


@family.route(
    RequestCode.GET_ROUTEINFO_BY_TOPIC,
    header=CallRouteRequestHeader,
    grpc_only=True,
    summary="whether there is a topic",
)
def _route(services: GrpcRouteServices, request: Request[CallRouteRequestHeader]) -> Reply:
    """Answer whether there is such a topic, to a client that the guards admit."""
    if services.topics.get(request.fields.topic) is None:
        raise TopicNotFound(request.fields.topic)
    return Reply()
