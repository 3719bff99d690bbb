"""What stands outside of a path in tests: servers in a namespace, and then a command beside them.

    unshare --net python outside.py COMMAND...

An echo of datagrams and a sink and source of bytes listen on all addresses, IPv4 and IPv6. The exit
code is the command's.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import threading

ECHO, BYTES = 7007, 7008
"""Ports: datagrams come back; a connection gets as many bytes as its first line says."""


def main() -> int:
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for serve, kind in ((echo, socket.SOCK_DGRAM), (give, socket.SOCK_STREAM)):
        server = socket.socket(socket.AF_INET6, kind)
        server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        server.bind(("::", ECHO if kind == socket.SOCK_DGRAM else BYTES))
        threading.Thread(target=serve, args=(server,), daemon=True).start()
    return subprocess.run(sys.argv[1:], check=False).returncode


def echo(server: socket.socket) -> None:
    while True:
        data, peer = server.recvfrom(2000)
        server.sendto(data, peer)


def give(server: socket.socket) -> None:
    server.listen()
    while True:
        connection, _ = server.accept()
        with connection, connection.makefile("rb") as lines:
            connection.sendall(bytes(int(lines.readline())))


if __name__ == "__main__":
    sys.exit(main())
