"""The plan of large clusters: what the simulation finds is what is computed, and the page is up to date."""

import numpy as np
import pytest

from bench import scale
from bench.scale import COSTS, PAGE, Cluster, main, recorded, served, simulate, tables


def test_a_request_waits_for_those_before_it() -> None:
    found = served(np.array([3.0, 0.0, 0.5]), np.array([1.0, 2.0, 1.0]), 10.0)
    assert found.busy == pytest.approx(0.4)  # done at 2, at 3, and at 4
    assert found.wait_most == pytest.approx(2.5)


def test_a_small_cluster_is_as_busy_as_computed_and_a_storm_waits() -> None:
    cluster, costs = Cluster(clients=1000, brokers=10, topics=100), recorded()
    kinds = [(round(cluster.routes * scale.PERIOD), costs.route)]
    calm = simulate(kinds, 1, within=scale.PERIOD, seed=1)
    storm = simulate(kinds, 1, within=0.01, seed=1)
    assert calm.busy == pytest.approx(cluster.routes * costs.route / 1e6)
    assert calm == simulate(kinds, 1, within=scale.PERIOD, seed=1)
    assert storm.busy == pytest.approx(calm.busy)
    assert calm.wait_most < 0.01 < storm.wait_p99


def test_registrations_do_not_get_less_with_more_name_servers() -> None:
    costs = recorded()
    one, ten = Cluster(clients=100_000), Cluster(clients=1_000_000)
    assert one.registering(costs) == ten.registering(costs)
    assert ten.name_servers(costs) > one.name_servers(costs)


def test_costs_are_written_as_they_are_read() -> None:
    assert recorded().written() == COSTS.read_text("utf-8")


def test_tables_of_a_small_cluster() -> None:
    small = Cluster(clients=100, brokers=10, topics=100)
    text = tables(small, small, recorded())
    assert "10 brokers, 100 clients" in text
    assert text == tables(small, small, recorded())


@pytest.mark.slow
def test_the_page_has_what_the_simulation_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert capsys.readouterr().out.strip() in PAGE.read_text("utf-8")
