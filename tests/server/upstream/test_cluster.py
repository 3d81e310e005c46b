"""What is known of a cluster by its name servers."""

from __future__ import annotations

import socket
from pathlib import Path

import trio

from rocketwire.server.upstream.cluster import Cluster
from rocketwire.server.upstream.errors import NotReached
from rocketwire.server.upstream.line import Answer
from rocketwire.server.upstream.lines import Lines
from rocketwire.server.upstream.questions import Question
from rocketwire.wire.addresses import Address
from rocketwire.wire.codes import RequestCode
from tests.server.harness import free_port, mock_clock, serving, settle

QUESTIONS = [Question(RequestCode.GET_BROKER_CLUSTER_INFO, {})] * 2


async def test_all_who_ask_at_once_get_the_answer_of_the_name_server_that_is_left(tmp_path: Path) -> None:
    nobody = Address(host="127.0.0.1", port=free_port())
    async with serving(tmp_path / "store") as server, trio.open_nursery() as nursery:
        lines = Lines()
        nursery.start_soon(lines.run)
        cluster = Cluster([nobody, server.name_server_address], lines)
        answers: list[Answer | NotReached] = []

        async def ask() -> None:
            answers.extend(await cluster.ask_together(QUESTIONS))

        async with trio.open_nursery() as asking:
            for _ in range(4):
                asking.start_soon(ask)
        assert [each.code for each in answers if isinstance(each, Answer)] == [0] * 8
        nursery.cancel_scope.cancel()


async def test_without_a_name_server_each_question_has_the_first_reason() -> None:
    first, second = (Address(host="127.0.0.1", port=free_port()) for _ in range(2))
    async with trio.open_nursery() as nursery:
        lines = Lines()
        nursery.start_soon(lines.run)
        cluster = Cluster([first, second], lines)
        reasons = await cluster.ask_together([Question(RequestCode.GET_BROKER_CLUSTER_INFO, {})] * 3)
        assert len(reasons) == 3
        assert all(str(each).startswith(f"{first} cannot be reached") for each in reasons)
        assert not await cluster.refresh()
        nursery.cancel_scope.cancel()


async def test_without_a_task_it_is_asked_who_answered_last_and_then_another(tmp_path: Path) -> None:
    told: list[list[Answer] | None] = []
    with socket.create_server(("127.0.0.1", 0)) as silent:
        first = Address(host="127.0.0.1", port=silent.getsockname()[1])
        async with serving(tmp_path / "store") as server, trio.open_nursery() as nursery:
            lines = Lines()
            nursery.start_soon(lines.run)
            cluster = Cluster([first, server.name_server_address], lines)
            assert not cluster.ask_then(QUESTIONS, told.append)  # there is no connection yet
            line = await lines.connected(first)
            await lines.connected(server.name_server_address)
            assert cluster.ask_then(QUESTIONS, told.append)
            mock_clock().jump(4)
            await settle()
            assert told == [None]
            assert line.lost.is_set()
            assert cluster.ask_then(QUESTIONS, told.append)
            await settle()
            assert [each.code for each in told[1] or ()] == [0, 0]
            nursery.cancel_scope.cancel()
