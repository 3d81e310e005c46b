import pytest

from rocketwire.compat.report.score import doubtful, score, side_score
from rocketwire.compat.results import Outcome, Result, Side
from tests.compat.report.examples import hostile, large, small

PASS, DIFFERS, FAILS, FLAKY, NOT_OFFERED = Outcome


@pytest.mark.parametrize(
    ("outcomes", "percent", "exit_code"),
    [
        ([PASS], 100, 0),
        ([PASS, FLAKY, NOT_OFFERED], 100, 0),
        ([PASS, DIFFERS], 50, 1),
        ([PASS, FAILS, NOT_OFFERED, NOT_OFFERED], 50, 1),
        ([PASS] * 199 + [FAILS], 99, 1),
        ([FAILS], 0, 1),
        ([NOT_OFFERED], None, 1),
        ([], None, 1),
    ],
)
def test_percentage_and_exit_code(outcomes: list[Outcome], percent: int | None, exit_code: int) -> None:
    found = score(small(*outcomes))
    assert (found.percent, found.exit_code) == (percent, exit_code)
    assert found.shown == ("no result" if percent is None else f"{percent} %")


def test_the_parts_add_up() -> None:
    results = large()
    whole = score(results)
    assert sum(whole.counts.values()) == len(results.scenarios) * len(results.clients)
    for parts in (
        [score(results, client=each.id) for each in results.clients],
        [score(results, feature=each.id) for each in results.features],
    ):
        assert sum(part.passed for part in parts) == whole.passed
        assert sum(part.offered for part in parts) == whole.offered
    assert side_score(results, Side.REFERENCE).percent == 100


def test_a_claim_that_the_reference_does_not_pass_is_doubtful_unless_it_is_ours_only() -> None:
    results = hostile()
    assert [each.side for each in doubtful(results)] == [Side.REFERENCE]
    assert doubtful(large()) == ()
    whole = large()
    ours = next(each.id for each in whole.scenarios if each.ours_only)
    reported = [
        Result(scenario=each.id, client="java-4.4.0", side=Side.REFERENCE, outcome=FAILS, seconds=1.0)
        for each in whole.scenarios[:1] + tuple(each for each in whole.scenarios if each.id == ours)
    ]
    fields = {name: getattr(whole, name) for name in whole.__struct_fields__}
    assert [each.scenario for each in doubtful(type(whole)(**{**fields, "results": tuple(reported)}))] == ["send.sync"]
