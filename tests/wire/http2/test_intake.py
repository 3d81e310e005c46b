from rocketwire.wire.http2.intake import Incoming, Intake

WINDOW, STREAM = 1000, 400
ENOUGH = STREAM // 4


def test_short_messages_need_no_grant() -> None:
    intake: Intake[Incoming] = Intake(WINDOW, STREAM)
    request = Incoming(1)
    intake.ask(request, ENOUGH)
    assert intake.let_in() == []


def test_long_messages_are_let_in_in_turn() -> None:
    intake: Intake[Incoming] = Intake(WINDOW, STREAM)
    requests = [Incoming(number) for number in range(4)]
    for request in requests:
        intake.ask(request, ENOUGH + 500)
        intake.ask(request, ENOUGH + 500)
    assert intake.let_in() == requests[:2]
    intake.ask(requests[0], ENOUGH + 500)
    assert intake.let_in() == []
    assert [request.granted for request in requests] == [500, 500, 0, 0]
    intake.drop(requests[2])
    intake.finish(requests[0])
    assert intake.let_in() == [requests[3]]


def test_a_message_longer_than_the_window_is_let_in_alone() -> None:
    intake: Intake[Incoming] = Intake(WINDOW, STREAM)
    short, long, last = Incoming(1), Incoming(2), Incoming(3)
    intake.ask(short, ENOUGH + 1)
    intake.ask(long, ENOUGH + 5000)
    intake.ask(last, ENOUGH + 1)
    assert intake.let_in() == [short]
    intake.finish(short)
    assert intake.let_in() == [long]
    assert intake.let_in() == []
    intake.finish(long)
    assert intake.let_in() == [last]


def test_the_last_that_holds_something_is_the_excess() -> None:
    intake: Intake[Incoming] = Intake(WINDOW, STREAM)
    requests = [Incoming(number) for number in range(3)]
    for request in requests:
        intake.hold(request, 2000)
    assert (intake.held, intake.excess()) == (6000, requests[2])
    intake.hold(requests[2], 0)
    assert (intake.held, intake.excess()) == (4000, None)
    intake.hold(requests[0], 2001)
    assert intake.excess() is requests[1]
    intake.drop(requests[1])
    assert (intake.held, intake.excess()) == (2001, None)
