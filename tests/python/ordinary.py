"""Ordinary traffic for captures: small exchanges, refusals and resets between two sockets.

    unshare --net python ordinary.py FILE.pcap FAMILY LINK_LAYER

In its own network namespace it captures, with tcpdump, what its own sockets say to each other.
"""

from __future__ import annotations

import itertools
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

SERVED, REFUSED = 8080, 8081
"""Ports: requests of a line are answered with as many bytes as it says; and nobody listens."""

REQUESTS = (0, 1, 999, 20_000, 300_000)
"""Bytes that are asked for, in a connection each."""


CLIENT_PORTS = itertools.count(40_001, 2)
"""Fixed, since tcptrace takes some answers over IPv6 for connections of their own.

That depends on how the ports of IPv4 and IPv6 meet in its tree: with ports by chance it happens in
one of eighty captures with both.
"""


def main() -> int:
    path, family, layer = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    place = ["-i", "lo"] if layer == "EN10MB" else ["-i", "any", "-y", layer]
    capture = subprocess.Popen(
        ["tcpdump", "--immediate-mode", "-U", "-s", "128", "-w", str(path), *place, "tcp"],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert capture.stderr is not None
    while "listening on" not in (line := capture.stderr.readline()):
        assert line, "tcpdump has ended"
    talk(socket.AF_INET6 if family == "6" else socket.AF_INET)
    settle(path)
    capture.terminate()
    return capture.wait()


def settle(path: Path) -> None:
    """Wait until nothing more is added to a file."""
    before = -1
    while (size := path.stat().st_size) != before:
        before = size
        time.sleep(0.5)


def talk(family: socket.AddressFamily) -> None:
    here = "::1" if family == socket.AF_INET6 else "127.0.0.1"
    with socket.socket(family) as server:
        server.bind((here, SERVED))
        server.listen()
        threading.Thread(target=serve, args=(server,), daemon=True).start()
        for size in REQUESTS:
            ask(family, here, size)
        several(family, here)
        reset(family, here)
        closed_window(family, here)
    for _ in range(2):
        with client_of(family, here) as refused:
            refused.connect_ex((here, REFUSED))


def serve(server: socket.socket) -> None:
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        threading.Thread(target=answer, args=(connection,), daemon=True).start()


def answer(connection: socket.socket) -> None:
    try:
        with connection, connection.makefile("rb") as lines:
            for line in lines:
                connection.sendall(bytes(int(line)))
    except ConnectionError:
        pass


def ask(family: socket.AddressFamily, here: str, size: int) -> None:
    with client_of(family, here) as client:
        client.connect((here, SERVED))
        client.sendall(b"%d\n" % size)
        receive(client, size)


def several(family: socket.AddressFamily, here: str) -> None:
    """Ask several times in one connection, with pauses."""
    with client_of(family, here) as client:
        client.connect((here, SERVED))
        for size in (100, 5000, 1, 70_000):
            client.sendall(b"%d\n" % size)
            receive(client, size)
            time.sleep(0.05)


def reset(family: socket.AddressFamily, here: str) -> None:
    with client_of(family, here) as client:
        client.connect((here, SERVED))
        client.sendall(b"1000\n")
        receive(client, 1000)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def closed_window(family: socket.AddressFamily, here: str) -> None:
    """Read nothing until the window has been closed for a while."""
    with client_of(family, here) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 20_000)
        client.connect((here, SERVED))
        client.sendall(b"200000\n")
        time.sleep(1.2)
        receive(client, 200_000)


def client_of(family: socket.AddressFamily, here: str) -> socket.socket:
    client = socket.socket(family)
    client.bind((here, next(CLIENT_PORTS)))
    return client


def receive(client: socket.socket, size: int) -> None:
    while size > 0:
        size -= len(client.recv(size))


if __name__ == "__main__":
    sys.exit(main())
