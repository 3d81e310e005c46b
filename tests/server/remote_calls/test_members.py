"""5.x clients as members of their groups at the brokers: requests of brokers reach only clients with the permission."""

from __future__ import annotations

from rocketwire.server.core.request import Peer
from rocketwire.server.grpc.clients import GrpcClient as Client5
from rocketwire.wire.bodies import decode_body
from rocketwire.wire.bodies.online import ProducerConnection
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.grpc.codes import Code
from rocketwire.wire.grpc.service_pb2 import TelemetryCommand
from tests.server.grpc.sdk import Sdk, code_of, producer_settings
from tests.server.grpc.test_routing import route
from tests.server.grpc.test_telemetry import half
from tests.server.harness import Client, Server
from tests.server.remote_calls.proxied import proxying


def owners_only(peer: Peer, topic: str) -> bool:
    """Give the account `owner` permission for the topic."""
    assert topic == "trans"
    return isinstance(peer, Client5) and peer.client_id == "owner"


async def test_a_back_check_reaches_no_client_without_permission_for_the_message(
    server: Server, broker: Client
) -> None:
    """A broker behind a proxy knows the proxy's account only."""
    async with proxying(server.name_server_address, clock=server.clock, may_receive=owners_only) as proxy:
        with Sdk(proxy.address, "owner") as owner, Sdk(proxy.address, "other") as other:
            strangers = await other.telemetry(producer_settings("trans"))
            owners = await owner.telemetry(producer_settings("trans"))
            await half(owner, broker)
            for sdk, stream in ((owner, owners), (other, strangers)):
                await sdk.command(stream)
            await broker.set_config(transactionTimeOut="1000", transactionCheckInterval="1000")
            for _ in range(8):  # the broker queries one of its producers after the other
                await server.pass_time(10)
            command = (await owner.command(owners)).recover_orphaned_transaction_command
            assert command.transaction_id == "idt"
            await other.rest()
            answer = await broker.request(RequestCode.GET_PRODUCER_CONNECTION_LIST, {"producerGroup": "trans"})
            found = decode_body(ProducerConnection, answer.body).connection_set
            assert [each.client_id for each in found] == ["owner"]  # or the broker would query the other one next
            assert other.incoming[strangers].messages(TelemetryCommand) == []
            assert code_of(await other.call("QueryRoute", route("trans"))) is Code.OK
