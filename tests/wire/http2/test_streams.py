from rocketwire.wire.http2.streams import How, Streams


def test_streams_are_idle_then_over() -> None:
    streams = Streams()
    assert streams.how(1) is How.IDLE
    for stream in (1, 3, 9, 11):
        streams.begin(stream)
    assert streams.last == 11
    assert [streams.how(stream) for stream in (1, 3, 9, 11)] == [How.ENDED] * 4
    assert [streams.how(stream) for stream in (5, 7)] == [How.SKIPPED] * 2
    assert [streams.how(stream) for stream in (2, 10, 13)] == [How.IDLE] * 3
    streams.reset(3, How.RESET_HERE)
    assert streams.how(3) is How.RESET_HERE
    streams.reset(3, How.RESET_THERE)
    assert streams.how(3) is How.RESET_THERE


def test_the_first_stream_may_be_a_later_one() -> None:
    streams = Streams()
    streams.begin(3)
    assert (streams.how(1), streams.how(3)) == (How.SKIPPED, How.ENDED)


def test_few_are_remembered() -> None:
    streams = Streams()
    for stream in range(1, 8001, 4):
        streams.begin(stream)
        streams.reset(stream, How.RESET_HERE)
    assert [streams.how(stream) for stream in (1, 3)] == [How.ENDED] * 2
    assert (streams.how(7997), streams.how(7995)) == (How.RESET_HERE, How.SKIPPED)
