import socket

from local_stack.ports import LOOPBACK, free_port


def test_a_free_port_can_be_bound():
    with socket.socket() as server:
        server.bind((LOOPBACK, free_port()))


def test_no_port_is_handed_out_twice():
    ports = [free_port() for _ in range(200)]
    assert len(set(ports)) == len(ports)
