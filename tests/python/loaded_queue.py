"""A device with a queue and datagrams that go through it, for tests of probes.

    unshare --net python loaded_queue.py '{"queue": "tbf ...", "rate": 2e6, ...}' [COMMAND...]

What the queue of the device `probed` sends is dropped at the other end. Without a command it is
probed in this process, and the result is printed as JSON; else the command runs meanwhile, and its
exit code is ours. With `"is_between"` they are sent from a quarter to half of the duration, and the
queue is empty before and after, so that whatever counts there counts the same packets.
"""

from __future__ import annotations

import json
import math
import shlex
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from fairwind.probe import probe_queue

DEVICE = "probed"
PAYLOAD = 1000
"""Bytes of a datagram without headers."""

HERE, THERE = "10.9.0.1", "10.9.0.2"


def main() -> int:
    wanted: dict[str, Any] = json.loads(sys.argv[1])
    make_device(wanted["queue"], wanted.get("child"), wanted.get("transmit_queues", 1))
    end = threading.Event()
    duration = wanted.get("duration", 2.0)
    span = (duration / 4, duration / 2) if wanted.get("is_between") else (0.0, math.inf)
    sender = threading.Thread(target=send, args=(wanted["rate"], end, span), daemon=True)
    sender.start()
    try:
        if sys.argv[2:]:
            return subprocess.run(sys.argv[2:], check=False).returncode
        found = probe_queue(DEVICE, duration)
    finally:
        end.set()
        sender.join()
    result = {
        "discipline": asdict(found.discipline),
        "events": asdict(found.counts),
        "loss_ratio": found.loss_ratio,
        "dropped_without_event": found.dropped_without_event,
        "sent_without_event": found.sent_without_event,
        "connections": [asdict(one) for one in found.connections],
        "tables": {name: frame.to_dicts() for name, frame in found.tables.items()},
    }
    sys.stdout.write(json.dumps(result))
    return 0


def make_device(queue: str, child: str | None, transmit_queues: int) -> None:
    """Make the device with this queue discipline, and one in it."""
    below = f"tc qdisc add dev {DEVICE} parent 1:1 {child}"
    for command in (
        "ip link set lo up",
        f"ip link add {DEVICE} numtxqueues {transmit_queues} type veth"
        f" peer name far numrxqueues {transmit_queues}",
        f"ip address add {HERE}/24 dev {DEVICE}",
        f"ip link set {DEVICE} up",
        "ip link set far up",
        # The other end takes no frames for this address, and drops them.
        f"ip neighbour add {THERE} lladdr 02:00:00:00:00:02 dev {DEVICE}",
        f"tc qdisc replace dev {DEVICE} root handle 1: {queue}",
        *([] if child is None else [below]),
    ):
        subprocess.run(shlex.split(command), check=True)


def send(bits_per_second: float, end: threading.Event, span: tuple[float, float]) -> None:
    """Send datagrams evenly at this rate, headers included, from here to there or until the end."""
    last = time.monotonic() + span[1]
    time.sleep(span[0])
    interval = (PAYLOAD + 42) * 8 / bits_per_second
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        # The socket's own buffer must not hold back what the queue shall drop.
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
        due = time.monotonic()
        while not end.is_set() and due < last:
            with suppress(OSError):  # a full queue says so
                sender.sendto(bytes(PAYLOAD), (THERE, 9))
            # Who was held up, as while programs are loaded, does not send in a burst what was due.
            due = max(due + interval, time.monotonic() - interval)
            time.sleep(max(0.0, due - time.monotonic()))


if __name__ == "__main__":
    sys.exit(main())
