import pytest

from bench.timers import TIMERS
from bench.workloads import WORKLOADS, Bar, chosen, flushed, groups


def names(only: str | None) -> list[str]:
    return [workload.name for workload in chosen(only)[0]]


def test_all_are_chosen_by_default() -> None:
    assert chosen(None) == (list(WORKLOADS), frozenset({"start", "idle"}), list(TIMERS))


def test_a_whole_name_means_that_one_only() -> None:
    assert names("pull") == ["pull"]
    assert names("java-sync-1") == ["java-sync-1"]


def test_the_beginning_of_names_means_all_of_them() -> None:
    assert names("java-sync") == ["java-sync-1", "java-sync-16", "java-sync-64"]
    assert names("send,java-l") == ["send-1x64", "send-8x32", "send-1k", "send-keys", "java-lite"]


def test_start_up_alone() -> None:
    assert chosen("start") == ([], frozenset({"start"}), [])
    assert chosen("idle") == ([], frozenset({"idle"}), [])
    assert chosen("sync").facts == frozenset()


def test_the_timer_alone() -> None:
    assert chosen("timer") == ([], frozenset(), list(TIMERS))
    assert [load.name for load in chosen("timer-m,sync").timers] == ["timer-minute"]


def test_a_word_that_fits_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no workload begins with 'snd'"):
        chosen("snd")


def test_names_are_distinct() -> None:
    assert len({workload.name for workload in WORKLOADS}) == len(WORKLOADS)


def test_what_one_is_compared_with_is_measured_too() -> None:
    assert names("retry") == ["send-8x32", "retry"]


def test_many_connections_are_compared_with_few_of_the_same_pace() -> None:
    assert names("many-1000") == ["many-8", "many-1000"]
    assert names("many-1000-p") == ["many-8-paced", "many-1000-paced"]


def test_a_run_with_sync_flush_has_bars_of_its_own() -> None:
    found = {one.name: one for one in flushed(WORKLOADS)}
    assert list(found) == ["send-8x32", "sync", "java-sync-1", "java-sync-16", "java-sync-64"]
    assert found["java-sync-64"].bar == Bar(rate=1.0)
    assert found["send-8x32"].bar == Bar()
    assert flushed(chosen("pull")[0]) == []


def test_what_is_compared_takes_turns() -> None:
    workloads, _, _ = chosen("sync,send-1k,transaction,retry")
    assert [[one.name for one in group] for group in groups(workloads)] == [
        ["send-8x32", "transaction", "retry"],
        ["send-1k"],
        ["sync"],
    ]
