"""Families of questions in which a peer answers what is sent."""

from __future__ import annotations

from .peer import Peer, Road
from .scripts import Builder, opened


def recovery(make: Builder) -> None:
    """Let a server send whose data gets lost, reordered and duplicated."""
    if make.chance(0.5):
        make.sysctl("tcp_congestion_control", "reno")
    agreed = opened(make, window=make.pick(512, 2000))
    path = Road(
        loss=make.pick(0, 0.1, 0.2, 0.4),
        ack_loss=make.pick(0, 0, 0.2),
        reordering=make.pick(0, 0, 0.2),
        duplication=make.pick(0, 0, 0.1),
        delayed=make.pick(0, 0, 0.5),
        window=make.pick(512, 2000),
    )
    if make.chance(0.2):
        begin = make.now + make.pick(0, 0.05, 0.2)
        path.blackout = (begin, begin + make.pick(0.1, 0.5, 1.0))
    peer = Peer(make, agreed, path)
    segments = make.random.randint(2, 40)
    make.add(f"write(4, ..., {segments * agreed.payload + make.pick(0, 0, 1, 400)}) = ...", 0.01)
    if make.chance(0.3):
        peer.converse(make.now + 0.3)
        make.now = max(make.now, make.stimuli[-1][0])
        make.add(f"write(4, ..., {make.random.randint(1, 10) * agreed.payload}) = ...", 0.015)
    peer.converse(make.now + 2.5)


def growth(make: Builder) -> None:
    """Use a lossless path: slow start, pauses, application limits."""
    make.sysctl("tcp_congestion_control", make.pick("reno", "cubic"))
    agreed = opened(make, window=2000)
    peer = Peer(make, agreed, Road(window=2000, delayed=make.pick(0, 0.5)))
    for _ in range(make.random.randint(1, 5)):
        make.add(f"write(4, ..., {make.random.randint(1, 30) * agreed.payload}) = ...", 0.01)
        peer.converse(make.now + make.pick(0.06, 0.2, 0.5))
        make.now = max(make.now, make.stimuli[-1][0]) + make.pick(0.005, 0.03, 0.4, 1.3)


def sending(make: Builder) -> None:
    """Make writes of all sizes under Nagle, corks and small windows."""
    first = make.pick(2, 8, 16, 100, 512)
    agreed = opened(make, window=first)
    peer = Peer(
        make,
        agreed,
        Road(
            window=make.pick(first, 512),
            random_window=make.pick(0, 0, 0.5),
            delayed=make.pick(0, 0.3),
        ),
    )
    make.add("fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0")
    on = {"TCP_NODELAY": 0, "TCP_CORK": 0}
    for _ in range(make.random.randint(2, 8)):
        after = make.pick(0, 0, 0.005, 0.03, 0.11)
        if make.chance(0.3):
            name = make.pick(*on)
            on[name] ^= 1
            make.add(f"setsockopt(4, SOL_TCP, {name}, [{on[name]}], 4) = 0", after)
            continue
        size = make.pick(
            1, 100, 500, agreed.payload - 1, agreed.payload, agreed.payload + 1, 2500, 5000, 12000
        )
        if make.chance(0.3):
            make.add(f"send(4, ..., {size}, MSG_MORE) = ...", after)
        else:
            make.add(f"write(4, ..., {size}) = ...", after)
        if make.chance(0.5):
            peer.converse(make.now + make.pick(0.02, 0.15, 0.3))
            make.now = max(make.now, make.stimuli[-1][0])
    if make.chance(0.3):
        make.add("close(4) = 0", 0.013)
    peer.converse(make.now + 1.0)


def urgent(make: Builder) -> None:
    """Urgent data in both directions."""
    agreed = opened(make)
    if make.chance(0.3):
        make.add("setsockopt(4, SOL_SOCKET, SO_OOBINLINE, [1], 4) = 0")
    peer = Peer(make, agreed, Road(loss=make.pick(0, 0, 0.2)))
    position = 1
    for _ in range(make.random.randint(2, 6)):
        after = make.pick(0, 0.005, 0.03, 0.2)
        kind = make.random.random()
        if kind < 0.3:
            make.add(f"send(4, ..., {make.pick(1, 100, 1000, 3000)}, MSG_OOB) = ...", after)
        elif kind < 0.5:
            make.add(f"send(4, ..., {make.pick(1, 500, 1000, 5000)}, MSG_DONTWAIT) = ...", after)
        elif kind < 0.8:
            size = make.pick(1, 10, 500)
            pointer = make.pick(0, 1, size, size + 1, size + 100)
            text = f"< PU. {position}:{position + size}({size}) ack 1 win 512 urg {pointer}"
            make.add(text + agreed.options(make.now + after), after)
            position += size
            peer.sent = position
        else:
            make.add("recv(4, ..., 1000, MSG_DONTWAIT) = ...", after)
        if make.chance(0.3):
            peer.converse(make.now + 0.15)
            make.now = max(make.now, make.stimuli[-1][0])
    peer.converse(make.now + 1.0)


def marked(make: Builder) -> None:
    """Congestion that is marked instead of dropped, both ways (RFC 3168)."""
    make.sysctl("tcp_ecn", make.pick("1", "1", "2"))
    agreed = opened(make)
    for place, (at, text) in enumerate(make.stimuli):
        if text.startswith("< S "):
            make.stimuli[place] = (at, text.replace("< S ", "< SEW "))
    peer = Peer(make, agreed, Road(loss=make.pick(0, 0, 0.15)))
    position = 1
    for _ in range(make.random.randint(1, 5)):
        after = make.pick(0.005, 0.03, 0.2)
        kind = make.random.random()
        if kind < 0.4:
            make.add(f"write(4, ..., {make.random.randint(1, 20) * agreed.payload}) = ...", after)
            peer.converse(make.now + make.pick(0.05, 0.2, 0.4))
            for place in range(make.random.randint(0, len(make.stimuli) - 1), len(make.stimuli)):
                at, text = make.stimuli[place]
                if text.startswith("< . ") and make.chance(0.5) and at > 0.2:
                    make.stimuli[place] = (at, text.replace("< . ", "< E. "))
            make.now = max(make.now, make.stimuli[-1][0])
        else:
            for _ in range(make.random.randint(1, 4)):
                size = agreed.payload
                mark, flags = (
                    make.pick("[ect0] ", "[ce] ", "[ect1] ", ""),
                    make.pick(".", ".", "W."),
                )
                options = agreed.options(make.now + after)
                payload = f"{position}:{position + size}({size})"
                make.add(f"< {mark}{flags} {payload} ack {peer.next} win 512{options}", after)
                position += size
                after = make.pick(0, 0.003)
            peer.sent = position


def messages(make: Builder) -> None:
    """Messages of the path about packets that are too big or do not arrive."""
    agreed = opened(make)
    make.add(f"write(4, ..., {make.random.randint(1, 12) * agreed.payload}) = ...", 0.01)
    peer = Peer(make, agreed, Road(loss=make.pick(0.2, 0.6, 1.0)))
    peer.converse(make.now + make.pick(0.01, 0.2, 0.6))
    for _ in range(make.random.randint(1, 3)):
        after = make.pick(0.005, 0.05, 0.3)
        make.now = max(make.now, make.stimuli[-1][0])
        first = make.pick(peer.next, peer.next, peer.next + agreed.payload, 1)
        kind = make.pick(
            "frag_needed mtu 1200",
            "frag_needed mtu 576",
            "frag_needed mtu 300",
            "frag_needed mtu 100",
            "frag_needed mtu 1500",
            "host_unreachable",
            "net_unreachable",
            "port_unreachable",
            "protocol_unreachable",
            "admin_prohibited",
        )
        make.add(
            f"< [{first}:{first + agreed.payload}({agreed.payload})] icmp unreachable {kind}", after
        )
        if make.chance(0.5):
            peer.converse(make.now + make.pick(0.05, 0.4))
    make.now = max(make.now, make.stimuli[-1][0])
    make.add(f"send(4, ..., {5 * agreed.payload}, MSG_DONTWAIT|MSG_NOSIGNAL) = ...", 0.05)
    peer.path.loss = 0
    peer.converse(make.now + 0.8)


def alive(make: Builder) -> None:
    """Time-outs that the application asks for: keep-alive, user time-out; short ones."""
    agreed = opened(make)
    if make.chance(0.6):
        make.add("setsockopt(4, SOL_SOCKET, SO_KEEPALIVE, [1], 4) = 0")
        make.add(f"setsockopt(4, SOL_TCP, TCP_KEEPIDLE, [{make.pick(1, 2)}], 4) = 0")
        make.add("setsockopt(4, SOL_TCP, TCP_KEEPINTVL, [1], 4) = 0")
        make.add(f"setsockopt(4, SOL_TCP, TCP_KEEPCNT, [{make.pick(1, 2, 3)}], 4) = 0")
    if make.chance(0.6):
        make.add(
            f"setsockopt(4, SOL_TCP, TCP_USER_TIMEOUT, [{make.pick(300, 700, 1500, 2500)}], 4) = 0"
        )
    window = make.pick(512, 512, 0, 3)
    peer = Peer(make, agreed, Road(loss=make.pick(0, 0.5, 1.0), window=window))
    if make.chance(0.7):
        make.add(f"write(4, ..., {make.random.randint(1, 5) * agreed.payload}) = ...", 0.01)
        peer.converse(make.now + 1.5)
    make.now = max(make.now, make.stimuli[-1][0])
    make.add("send(4, ..., 100, MSG_DONTWAIT|MSG_NOSIGNAL) = ...", 3.71)
