import socket

import pytest

from bench.ports import Ports, PortsTakenError


def test_a_brokers_four_ports_are_free() -> None:
    port = Ports(start=17).broker()
    for offset in (-2, -1, 0, 1):
        with socket.create_server(("127.0.0.1", port + offset)):
            pass


def test_no_port_is_given_twice() -> None:
    ports = Ports(start=23)
    taken = [ports.name_server(), ports.broker(), ports.broker(), ports.name_server()]
    runs = {number for port in taken for number in range(port - 2, port + 2)}
    assert len(runs) == 16


@pytest.mark.parametrize("offset", [-2, 0, 1])
def test_a_run_with_a_taken_port_is_skipped(offset: int) -> None:
    first = Ports(start=31).broker()
    with socket.create_server(("", first + offset)):
        assert Ports(start=31).broker() > first


def test_the_end_of_all_ports_is_an_error() -> None:
    ports = Ports(start=0)
    with pytest.raises(PortsTakenError):
        _ = [ports.name_server() for _ in range(2000)]
