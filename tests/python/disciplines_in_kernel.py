"""Drives disciplines of the kernel with bursts of datagrams, and prints what they did as JSON.

Runs as root inside an instance of a kernel. Packets of 1500 bytes pass an htb of 12 Mbit/s, one a
millisecond, with the discipline below it; htb lets one more pass at the beginning.
"""

import ctypes
import itertools
import json
import os
import socket
import struct
import subprocess
import sys
import time

HEADERS_BYTES = 28
SO_TIMESTAMPNS = 35
SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33
LIBC = ctypes.CDLL(None)


def shell(commands):
    """Run commands of a shell, all of which have to succeed."""
    subprocess.run(["sh", "-e", "-c", commands], check=True)


BEHIND_HTB = """
    tc qdisc add dev near root handle 1: stab overhead -14 linklayer ethernet htb default 1
    tc class add dev near parent 1: classid 1:1 htb rate 12mbit burst 1500 cburst 1500
    {before}
    tc qdisc add dev near parent 1:1 handle 10: {child}
"""


def behind_htb(child, before=""):
    """Give a fresh device a rate with the discipline below, and return a socket at its end."""
    return build(BEHIND_HTB.format(child=child, before=before))


def build(disciplines):
    """Give a fresh device disciplines, and return a socket at its other end."""
    subprocess.run("ip netns del far 2>&-; ip link del near 2>&-", shell=True, check=False)
    shell(
        f"""
        sysctl -q -w net.ipv6.conf.default.disable_ipv6=1
        ip netns add far
        ip link add near type veth peer name there netns far
        ip addr add 10.9.0.1/24 dev near
        ip -n far addr add 10.9.0.2/24 dev there
        ip link set near up
        ip -n far link set there up
        address=$(ip -n far -br link show there | awk '{{print $3}}')
        ip neigh replace 10.9.0.2 lladdr $address dev near nud permanent
        {disciplines}
        """
    )
    time.sleep(1)
    own, other = os.open("/proc/self/ns/net", 0), os.open("/run/netns/far", 0)
    LIBC.setns(other, 0)
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    LIBC.setns(own, 0)
    receiver.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 50_000_000)
    receiver.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    receiver.bind(("10.9.0.2", 5000))
    receiver.setblocking(False)
    return receiver


def sender(number, service=0):
    """Open a flow of its own."""
    flow = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    flow.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 50_000_000)
    flow.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, service)
    flow.bind(("10.9.0.1", 6000 + number))
    flow.connect(("10.9.0.2", 5000))
    return flow


def burst(flow, label, count, packet_bytes=1500):
    """Send packets that carry a label, all at once."""
    payload = struct.pack("I", label) + bytes(packet_bytes - HEADERS_BYTES - 4)
    for _ in range(count):
        flow.send(payload)


def received(receiver):
    """Read what has come, as labels with nanoseconds."""
    packets = []
    while True:
        try:
            payload, extra, _, _ = receiver.recvmsg(2000, 100)
        except BlockingIOError:
            return packets
        seconds, nanos = struct.unpack("qq", extra[0][2][:16])
        packets.append((struct.unpack("I", payload[:4])[0], seconds * 10**9 + nanos))


def drops_of_pfifo_fast(limit, first, later_ms):
    """Count drops of a burst, and of 30 packets at each later millisecond."""
    receiver = behind_htb("pfifo_fast", f"ip link set near txqueuelen {limit}")
    flow, begin = sender(0), time.monotonic()
    burst(flow, 0, first)
    for millis in later_ms:
        due = begin + millis / 1000 + 0.0005
        time.sleep(max(0, due - time.monotonic()))
        burst(flow, millis, 30)
    time.sleep(2)
    labels = [label for label, _ in received(receiver)]
    return [first - labels.count(0), *(30 - labels.count(millis) for millis in later_ms)]


def fq(parameters, counts, packet_bytes=1500, services=(0, 0, 0)):
    """Send a burst of each flow through fq, and return labels with milliseconds."""
    receiver = behind_htb(f"fq quantum 1500 {parameters}")
    flows = [
        sender(number, service)
        for number, service in zip(range(len(counts)), services, strict=False)
    ]
    for label, (flow, count) in enumerate(zip(flows, counts, strict=True)):
        burst(flow, label, count, packet_bytes)
    time.sleep(12)
    packets = received(receiver)
    return [(label, (nanos - packets[0][1]) / 1e6) for label, nanos in packets]


def times(parameters, count, packet_bytes=1500):
    """Return the milliseconds in which the packets of one flow leave fq."""
    return [millis for _, millis in fq(parameters, [count], packet_bytes)]


HFSC = """
    tc qdisc add dev near root handle 1: stab overhead -14 linklayer ethernet hfsc
    tc class add dev near parent 1: classid 1:1 hfsc ls m2 12mbit ul m2 12mbit
    tc class add dev near parent 1:1 classid 1:2 hfsc ls m2 6mbit
    tc class add dev near parent 1:2 classid 1:10 hfsc ls m2 1mbit
    tc class add dev near parent 1:2 classid 1:11 hfsc ls m2 2mbit ul m2 2500kbit
    tc class add dev near parent 1:1 classid 1:12 hfsc rt m1 6mbit d 10ms m2 2mbit \
        ls m1 0bit d 15ms m2 3mbit
    tc class add dev near parent 1:1 classid 1:13 hfsc rt m2 1100kbit
    for flow in 0 1 2 3; do
        tc filter add dev near parent 1: protocol ip prio 1 u32 \
            match ip dsfield $(($flow * 4)) 0xfc flowid 1:1$flow
    done
"""


def order_behind_hfsc():
    """Send two bursts of flows, each to its class, and return them in the order of arrival."""
    receiver = build(HFSC)
    flows = [sender(number, number << 2) for number in range(4)]
    for flow in range(4):
        burst(flows[flow], flow, 40)
    time.sleep(0.3)
    for flow, count in ((2, 20), (3, 10), (1, 20)):
        burst(flows[flow], flow, count)
    time.sleep(2)
    return "".join(str(label) for label, _ in received(receiver))


def losses_of_states(probabilities, count):
    """Send packets through netem's four states, and return which were lost."""
    receiver = behind_htb("pfifo")
    shell(
        f"tc qdisc del dev near root; tc qdisc add dev near root netem loss state {probabilities}"
    )
    flow, arrived = sender(0), set()
    for begin in range(0, count, 200):
        for number in range(begin, begin + 200):
            burst(flow, number, 1, 60)
        arrived |= {number for number, _ in received(receiver)}
    time.sleep(1)
    arrived |= {number for number, _ in received(receiver)}
    return [number not in arrived for number in range(count)]


def shares(lost):
    """Return the share of losses, and of single ones among runs of losses and of deliveries."""
    runs = [(is_lost, len(list(run))) for is_lost, run in itertools.groupby(lost)]

    def singles(wanted):
        alone = [length == 1 for is_lost, length in runs if is_lost is wanted]
        return sum(alone) / len(alone)

    return [sum(lost) / len(lost), singles(True), singles(False)]


ONE = "initial_quantum 1500"


def order_of_bands():
    """Send bursts of flows of three services through fq, and return labels."""
    services = (0x10, 0x00, 0x08)
    packets = fq(f"{ONE} flow_limit 10000", [4000] * 3, services=services)
    return [label for label, _ in packets]


TRIALS = {
    "long_ring": lambda: drops_of_pfifo_fast(40, 50, [14, 16]),
    "end_of_ring": lambda: drops_of_pfifo_fast(40, 40, [38, 39]),
    "short_ring": lambda: drops_of_pfifo_fast(31, 32, [5]),
    "limited": lambda: [label for label, _ in fq(ONE, [200, 20])],
    "turns": lambda: [label for label, _ in fq(ONE, [60, 60, 60])],
    "spaced": lambda: times(f"{ONE} maxrate 1200kbit", 15),
    "first_turn": lambda: times("initial_quantum 15000 maxrate 1200kbit", 15),
    "one_by_one": lambda: times(f"{ONE} maxrate 400kbit", 12, 150),
    "by_quanta": lambda: times(f"{ONE} maxrate 400kbit low_rate_threshold 0", 12, 150),
    "states": lambda: shares(losses_of_states("2% 30% 20% 50% 1%", 300_000)),
    "bands": order_of_bands,
    "hfsc": order_behind_hfsc,
}
RESULTS = {name: TRIALS[name]() for name in sys.argv[1:] or TRIALS}
sys.stdout.write(json.dumps(RESULTS) + "\n")
