"""Requests about assignments: a client's queues (400), whether a group pulls or pops (401, 402)."""

from __future__ import annotations

from typing import Final

from rocketwire.remoting.core.steps import Operation
from rocketwire.server.assignments.assignments import Assignments, ClientQueues
from rocketwire.server.core.long_tasks import (
    ReplyOperation,
    check_answer,
    encode_answer,
    in_batches,
    in_thread,
    parse_body,
)
from rocketwire.server.core.request import Reply, Request
from rocketwire.server.core.route import RequestRoutes
from rocketwire.wire.bodies.assignment import (
    MessageQueueAssignment,
    QueryAssignmentRequestBody,
    QueryAssignmentResponseBody,
    SetMessageRequestModeRequestBody,
)
from rocketwire.wire.bodies.client import MessageQueue
from rocketwire.wire.facts.codes import RequestCode

_LEAST_QUEUE: Final = len('{"messageQueue":{"brokerName":"","queueId":0,"topic":""},"mode":"POP"},')
_LEAST_MODE: Final = len('"":{"consumerGroup":"","mode":"POP","popShareQueueNum":0,"topic":""},')


family: Final = RequestRoutes[Assignments]("assignment")


@family.route(RequestCode.QUERY_ASSIGNMENT, summary="the queues of a client, and how it reads them")
def _query(assignments: Assignments, request: Request[None]) -> ReplyOperation:
    return _answer_query(assignments, parse_body(QueryAssignmentRequestBody, request.body))


def _answer_query(assignments: Assignments, read: Operation[QueryAssignmentRequestBody]) -> ReplyOperation:
    query = yield from read
    found = assignments.queues_of_client(query)
    if found is None:
        return Reply(body=((yield from encode_answer(QueryAssignmentResponseBody(), 0, 0)),))
    count = len(found.numbers)
    least = count * (_LEAST_QUEUE + len(query.topic))
    check_answer(least)
    queues: list[MessageQueueAssignment] = []
    for part in in_batches(found.numbers):
        queues += _assignments(query.topic, found, part)
        yield None
    body = QueryAssignmentResponseBody(message_queue_assignments=tuple(queues))
    return Reply(body=((yield from encode_answer(body, count, least)),))


def _assignments(topic: str, found: ClientQueues, numbers: list[int]) -> list[MessageQueueAssignment]:
    return [
        MessageQueueAssignment(
            message_queue=MessageQueue(topic=topic, broker_name=broker, queue_id=queue_id), mode=found.mode
        )
        for broker, queue_id in map(found.queues.__getitem__, numbers)
    ]


@family.route(RequestCode.SET_MESSAGE_REQUEST_MODE, summary="whether a group pulls or pops a topic")
def _set_mode(assignments: Assignments, request: Request[None]) -> ReplyOperation:
    return _mode_set(assignments, parse_body(SetMessageRequestModeRequestBody, request.body))


def _mode_set(assignments: Assignments, read: Operation[SetMessageRequestModeRequestBody]) -> ReplyOperation:
    assignments.set_mode((yield from read))
    text = yield from assignments.table.encode_in_steps()
    if text is not None:
        yield from in_thread(lambda: assignments.table.write(text))
    return Reply()


@family.route(RequestCode.GET_ALL_MESSAGE_REQUEST_MODE, summary="which groups pull or pop which topics")
def _modes(assignments: Assignments, _request: Request[None]) -> ReplyOperation:
    count = len(assignments.table)
    return Reply(body=((yield from encode_answer(assignments.table.modes, count, count * _LEAST_MODE)),))
