"""Free TCP ports on the loopback interface."""

import random
import socket

LOOPBACK = "127.0.0.1"

# Below the range the kernel takes for outgoing connections (from 32768 on Linux): there, another process's
# connection could take the port between the look-up and the server's own bind.
_LOWEST, _HIGHEST = 20_000, 32_000

_handed_out: set[int] = set()
_random = random.SystemRandom()


def free_port() -> int:
    """Returns a port nobody listens on at this moment, never the same twice in one process."""
    while True:
        port = _random.randint(_LOWEST, _HIGHEST)
        if port not in _handed_out and _can_bind(port):
            _handed_out.add(port)
            return port


def _can_bind(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True
