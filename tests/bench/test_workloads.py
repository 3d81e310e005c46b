import pytest

from bench.workloads import WORKLOADS, chosen, groups


def names(only: str | None) -> list[str]:
    return [workload.name for workload in chosen(only)[0]]


def test_all_are_chosen_by_default() -> None:
    assert chosen(None) == (list(WORKLOADS), True)


def test_a_whole_name_means_that_one_only() -> None:
    assert names("pull") == ["pull"]
    assert names("java-sync-1") == ["java-sync-1"]


def test_the_beginning_of_names_means_all_of_them() -> None:
    assert names("java-sync") == ["java-sync-1", "java-sync-16", "java-sync-64"]
    assert names("send,java-l") == ["send-1x64", "send-8x32", "send-1k", "send-keys", "java-lite"]


def test_start_up_alone() -> None:
    assert chosen("start") == ([], True)
    assert chosen("sync")[1] is False


def test_a_word_that_fits_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no workload begins with 'snd'"):
        chosen("snd")


def test_names_are_distinct() -> None:
    assert len({workload.name for workload in WORKLOADS}) == len(WORKLOADS)


def test_what_one_is_compared_with_is_measured_too() -> None:
    assert names("retry") == ["send-8x32", "retry"]


def test_what_is_compared_takes_turns() -> None:
    workloads, _ = chosen("sync,send-1k,transaction,retry")
    assert [[one.name for one in group] for group in groups(workloads)] == [
        ["send-8x32", "transaction", "retry"],
        ["send-1k"],
        ["sync"],
    ]
