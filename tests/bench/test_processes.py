import os
import sys
import time
from pathlib import Path

import pytest

from bench.processes import Memory, Server, ServerFailedError, cpu_seconds, parse_smaps_rollup


def test_memory_is_read_from_the_kernels_text() -> None:
    text = "5581-7ffd ---p 00000000 00:00 0    [rollup]\nRss:    1000 kB\nPss:  7 kB\nAnonymous:   24 kB\n"
    assert parse_smaps_rollup(text) == Memory(rss=1000 * 1024, private=24 * 1024)


def test_processor_time_is_that_of_the_process() -> None:
    before, used = cpu_seconds(os.getpid()), time.process_time()
    while time.process_time() < used + 0.2:
        pass
    assert 0.1 < cpu_seconds(os.getpid()) - before < 2


def test_a_process_is_measured_and_stopped(tmp_path: Path) -> None:
    server = Server([sys.executable, "-c", "import time; time.sleep(60)"], cwd=tmp_path, log=tmp_path / "a.out")
    try:
        # At first it is the page that its start has come to.
        while (memory := server.memory()).rss < 1 << 20:
            time.sleep(0.01)
    finally:
        server.stop()
    assert 0 <= memory.private < memory.rss
    with pytest.raises(ServerFailedError, match="a ended with exit code -15"):
        server.require_running()
    server.stop()


def test_the_last_words_of_a_dead_process_are_kept(tmp_path: Path) -> None:
    program = "print('first'); raise SystemExit('no such store')"
    server = Server([sys.executable, "-c", program], cwd=tmp_path, log=tmp_path / "b.out")
    server._process.wait()
    with pytest.raises(ServerFailedError, match=r"b ended with exit code 1: (no such store|first)"):
        server.memory()
