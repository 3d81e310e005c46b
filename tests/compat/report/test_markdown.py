from rocketwire.compat.report.markdown import markdown
from rocketwire.compat.results import Outcome
from tests.compat.report.examples import hostile, large, small


def test_a_small_run_as_a_whole() -> None:
    results = small(Outcome.PASS, Outcome.DIFFERS, Outcome.FLAKY, Outcome.NOT_OFFERED, reason="a | b", reference=True)
    assert markdown(results) == (
        "# Compatibility: 66 %\n\n"
        "rocketwire 0.1.0: 2 of 3 passed, 1 not offered. Apache RocketMQ 4.9.7, the reference: no result. "
        "Tested with rocketwire 0.1.0 in 2 s.\n\n"
        "| Feature | java-4.9.7 | all |\n"
        "| --- | ---: | ---: |\n"
        "| Send | 2/3 ≠ | 2/3 ≠ |\n"
        "| **Score** | **66 %** | **66 %** |\n\n"
        "## What does not pass\n\n"
        "- ≠ differs: **send.s1**, java-4.9.7: a \\| b\n\n"
        "## Flaky: did not pass, and passed when it ran again\n\n"
        "- ↻ flaky: **send.s2**, java-4.9.7: a \\| b\n"
    )


def test_what_passes_has_no_list() -> None:
    assert "##" not in markdown(small(Outcome.PASS)).removeprefix("#")


def test_a_long_list_ends() -> None:
    shown = markdown(small(*[Outcome.FAILS] * 60))
    assert shown.count("\n- ✗ fails") == 50
    assert shown.endswith("\n- and 10 more\n")


def test_hostile_text_is_no_markup() -> None:
    shown = markdown(hostile())
    assert "\\<script\\>alert(1)\\</script\\>" in shown
    assert "<script" not in shown.replace("\\<script", "")
    assert "What the reference does not pass" in shown


def test_it_fits_a_step_summary() -> None:
    assert len(markdown(large(bad=1)).encode()) < 100_000
