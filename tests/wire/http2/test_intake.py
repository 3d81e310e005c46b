from rocketwire.wire.http2.intake import IncomingRequest, Intake

WINDOW, STREAM = 1000, 400
ENOUGH = STREAM // 4


def test_short_messages_need_no_grant() -> None:
    intake: Intake[IncomingRequest] = Intake(WINDOW, STREAM)
    request = IncomingRequest(1)
    intake.request_room(request, ENOUGH)
    assert intake.admit_waiting() == []


def test_long_messages_are_let_in_one_after_the_other() -> None:
    intake: Intake[IncomingRequest] = Intake(WINDOW, STREAM)
    requests = [IncomingRequest(number) for number in range(4)]
    for request in requests:
        intake.request_room(request, ENOUGH + 500)
        intake.request_room(request, ENOUGH + 500)
    assert intake.admit_waiting() == requests[:2]
    intake.request_room(requests[0], ENOUGH + 500)
    assert intake.admit_waiting() == []
    assert [request.granted for request in requests] == [500, 500, 0, 0]
    intake.forget(requests[2])
    intake.release_grant(requests[0])
    assert intake.admit_waiting() == [requests[3]]


def test_a_message_longer_than_the_window_is_let_in_alone() -> None:
    intake: Intake[IncomingRequest] = Intake(WINDOW, STREAM)
    short, long, last = IncomingRequest(1), IncomingRequest(2), IncomingRequest(3)
    intake.request_room(short, ENOUGH + 1)
    intake.request_room(long, ENOUGH + 5000)
    intake.request_room(last, ENOUGH + 1)
    assert intake.admit_waiting() == [short]
    intake.release_grant(short)
    assert intake.admit_waiting() == [long]
    assert intake.admit_waiting() == []
    intake.release_grant(long)
    assert intake.admit_waiting() == [last]


def test_the_last_that_holds_something_is_the_excess() -> None:
    intake: Intake[IncomingRequest] = Intake(WINDOW, STREAM)
    requests = [IncomingRequest(number) for number in range(3)]
    for request in requests:
        intake.set_held(request, 2000)
    assert (intake.held, intake.request_to_refuse()) == (6000, requests[2])
    intake.set_held(requests[2], 0)
    assert (intake.held, intake.request_to_refuse()) == (4000, None)
    intake.set_held(requests[0], 2001)
    assert intake.request_to_refuse() is requests[1]
    intake.forget(requests[1])
    assert (intake.held, intake.request_to_refuse()) == (2001, None)
