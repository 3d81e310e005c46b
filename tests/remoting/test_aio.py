"""The client on event loops: what the two of them do differently."""

from __future__ import annotations

import asyncio

import rocketwire.remoting.trio
from rocketwire.remoting import Begin, Message, Producer, ReceivedMessage, aio
from tests.cli.endpoint import Addresses


def test_the_former_name_gives_the_same_classes() -> None:
    assert rocketwire.remoting.trio.__all__ == aio.__all__
    assert all(getattr(rocketwire.remoting.trio, name) is getattr(aio, name) for name in aio.__all__)


def test_a_consumer_whose_asyncio_task_is_cancelled_commits_what_was_handled_and_leaves(endpoint: Addresses) -> None:
    name_server = str(endpoint.name_server)
    with Producer("P", name_server) as producer:
        (queue, *_) = [producer.send(Message("Cancelled", b"%d" % number)).queue for number in range(2)]

    async def main() -> int | None:
        ended = asyncio.Event()

        async def handle(message: ReceivedMessage) -> None:
            if message.body == b"0":
                ended.set()
            else:
                await asyncio.sleep(600)

        async def consume() -> None:
            async with aio.PushConsumer("leaving", name_server, begin=Begin.FIRST, timeout=5) as consumer:
                consumer.subscribe("Cancelled")
                await consumer.run(handle)

        consuming = asyncio.create_task(consume())
        await ended.wait()
        consuming.cancel()
        await asyncio.gather(consuming, return_exceptions=True)
        assert consuming.cancelled()
        async with aio.PullConsumer("leaving", name_server) as consumer:
            return await consumer.committed(queue)

    assert asyncio.run(main()) == 1
