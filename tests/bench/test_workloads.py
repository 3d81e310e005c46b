from bench.choice import chosen
from bench.grpc import GRPC
from bench.workloads import WORKLOADS, Bar, flushed, groups


def test_names_are_distinct() -> None:
    assert len({workload.name for workload in (*WORKLOADS, *GRPC)}) == len(WORKLOADS) + len(GRPC)


def test_a_run_with_sync_flush_has_other_bars() -> None:
    found = {one.name: one for one in flushed(WORKLOADS)}
    assert list(found) == ["send-8x32", "sync", "java-sync-1", "java-sync-16", "java-sync-64"]
    assert found["java-sync-64"].bar == Bar(rate=1.0)
    assert found["send-8x32"].bar == Bar()
    assert flushed(chosen("pull")[0]) == []


def test_what_is_compared_takes_turns() -> None:
    workloads = chosen("sync,send-1k,transaction,retry").workloads
    assert [[one.name for one in group] for group in groups(workloads)] == [
        ["send-8x32", "transaction", "retry"],
        ["send-1k"],
        ["sync"],
    ]
