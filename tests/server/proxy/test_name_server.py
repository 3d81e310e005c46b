"""A proxy's answers as a name server to many simultaneous requests."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from rocketwire.wire.bodies import decode_body
from rocketwire.wire.bodies.route import TopicRouteData
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from tests.server.harness import Client, serving
from tests.server.proxy.proxied import pair, proxying

ROUTE: Final = RequestCode.GET_ROUTEINFO_BY_TOPIC


async def queues(client: Client) -> int:
    """How many queues the topic T has in the name server's route."""
    (found,) = decode_body(TopicRouteData, (await client.request(ROUTE, {"topic": "T"})).body).queue_datas
    return found.write_queue_nums


async def test_a_changed_route_is_returned_at_once(tmp_path: Path) -> None:
    async with serving(tmp_path / "store") as server:
        broker = server.broker()
        async with proxying(tmp_path / "proxy", server.name_server_address) as proxy:
            names = proxy.names()
            for count in (2, 2, 5, 5, 3):
                await broker.create_topic("T", count)
                assert await queues(names) == count


async def test_requests_of_one_read_keep_their_order_but_routes_are_queried_together(tmp_path: Path) -> None:
    async with pair(tmp_path) as (_, proxy):
        client = proxy.names()
        where = {"namespace": "N", "key": "k"}
        routes = [client.frame(ROUTE, {"topic": topic}) for topic in ("T", "Nowhere") * 80]
        frames = [
            *routes[:3],
            client.frame(RequestCode.PUT_KV_CONFIG, {**where, "value": "1"}),
            client.frame(RequestCode.GET_KV_CONFIG, where),
            *routes[3:],
            client.frame(RequestCode.REGISTER_BROKER, {"brokerName": "x"}),
            client.frame(RequestCode.PUT_KV_CONFIG, {**where, "value": "2"}),
            client.frame(RequestCode.GET_KV_CONFIG, where),
        ]
        await client.write(b"".join(frames))
        answers = [await client.receive() for _ in frames]
        values = [each.header.ext["value"] for each in answers if each.header.ext and "value" in each.header.ext]
        assert values == ["1", "2"]
        codes = [each.header.code for each in answers]
        pairs = [ResponseCode.SUCCESS, ResponseCode.TOPIC_NOT_EXIST] * 80
        refused = ResponseCode.REQUEST_CODE_NOT_SUPPORTED
        assert codes == [*pairs[:3], 0, 0, *pairs[3:], refused, 0, 0]
        opaques = [each.header.opaque for each in answers]
        assert len(set(opaques)) == len(frames)
        proxied = str(proxy.address()).encode()
        assert all(proxied in bytes(each.body) for each in answers if each.body)
