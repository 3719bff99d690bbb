"""Measure what the running kernel's htb and tbf attain: `sudo python kernel.py`.

Two network namespaces joined by a veth pair; datagrams of 1514 B frames at one and a half times
the limit for 3 s after 0.7 s. Prints discipline, burst, rate, and attained over nominal rate.
"""

import contextlib
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

FRAME_BYTES = 1514
UDP_PAYLOAD_BYTES = 1472
OVERLOAD = 1.5
SETTLING_S, MEASURED_S = 0.7, 3.0
RATES_MBIT = (1, 5, 10, 50, 100, 250)
BURSTS_BYTES = (1520, 15000)
HERE, THERE = f"granularity-a-{os.getpid()}", f"granularity-b-{os.getpid()}"


def run(*words: str) -> None:
    """Run a command; its warnings are of no interest here, its failure is."""
    subprocess.run(words, check=True, capture_output=True)


def limit(kind: str, rate: int, burst: int) -> None:
    """Put a limit of a rate in Mbit/s before the link."""
    tc = ("tc", "-n", HERE)
    subprocess.run([*tc, "qdisc", "del", "dev", "out", "root"], capture_output=True, check=False)
    size, speed = str(burst), f"{rate}mbit"
    if kind == "tbf":
        words = ("rate", speed, "burst", size, "limit", "150000")
        run(*tc, "qdisc", "add", "dev", "out", "root", "tbf", *words)
        return
    run(*tc, "qdisc", "add", "dev", "out", "root", "handle", "1:", "htb", "default", "10")
    htb = ("htb", "rate", speed, "ceil", speed, "burst", size, "cburst", size)
    run(*tc, "class", "add", "dev", "out", "parent", "1:", "classid", "1:10", *htb)
    run(*tc, "qdisc", "add", "dev", "out", "parent", "1:10", "pfifo", "limit", "100")


def attained(rate: int) -> float:
    """Send above the limit for a while, and give the attained rate over the limit."""
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.setblocking(False)  # noqa: FBT003 - the socket API
    counter = Path("/sys/class/net/out/statistics/tx_bytes")
    begin, sent = time.monotonic(), 0
    first: tuple[float, int] | None = None
    while True:
        now = time.monotonic() - begin
        if first is None and now > SETTLING_S:
            first = (now, int(counter.read_text()))
        if first is not None and now > SETTLING_S + MEASURED_S:
            break
        due = int(now * rate * 1e6 * OVERLOAD / 8 / FRAME_BYTES)
        for _ in range(min(due - sent, 64)):
            with contextlib.suppress(OSError):  # the queue is full, as it should be
                sender.sendto(bytes(UDP_PAYLOAD_BYTES), ("10.99.0.2", 9))
            sent += 1
        time.sleep(0.0002)
    last = (time.monotonic() - begin, int(counter.read_text()))
    return (last[1] - first[1]) * 8 / (last[0] - first[0]) / (rate * 1e6)


def connect() -> None:
    """Join two namespaces by a link without a limit."""
    run("ip", "link", "add", "out", "netns", HERE, "type", "veth", "peer", "in", "netns", THERE)
    for name, device, address in ((HERE, "out", "10.99.0.1/30"), (THERE, "in", "10.99.0.2/30")):
        run("ip", "-n", name, "addr", "add", address, "dev", device)
        run("ip", "-n", name, "link", "set", device, "up")


def main() -> None:
    """Measure every cell."""
    if len(sys.argv) > 1:
        sys.stdout.write(f"{attained(int(sys.argv[1])):.3f}\n")
        return
    run("ip", "netns", "add", HERE)
    run("ip", "netns", "add", THERE)
    try:
        connect()
        for kind in ("htb", "tbf"):
            for burst in BURSTS_BYTES:
                for rate in RATES_MBIT:
                    limit(kind, rate, burst)
                    inside = ("ip", "netns", "exec", HERE, sys.executable, __file__, str(rate))
                    ratio = subprocess.run(inside, check=True, capture_output=True, text=True)
                    sys.stdout.write(f"{kind} {burst} B {rate} Mbit/s {ratio.stdout}")
                    sys.stdout.flush()
    finally:
        run("ip", "netns", "del", HERE)
        run("ip", "netns", "del", THERE)


if __name__ == "__main__":
    main()
