from __future__ import annotations

from rocketwire.store.event import Event


def test_listeners_are_called_in_their_order() -> None:
    reported: list[tuple[str, int]] = []
    event = Event[[int]](lambda number: reported.append(("first", number)))
    assert event
    event.subscribe(lambda number: reported.append(("second", number)))
    event(1)
    event(2)
    assert reported == [("first", 1), ("second", 1), ("first", 2), ("second", 2)]


def test_an_event_without_listeners() -> None:
    event = Event[[str]]()
    assert not event
    event("x")
