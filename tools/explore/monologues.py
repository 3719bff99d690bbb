"""Families of questions that are the same whatever is sent in answer."""

from __future__ import annotations

from .scripts import Builder, opened


def guesses(make: Builder) -> None:
    """Acknowledgments without rhyme or reason for a flight of ten segments."""
    if make.chance(0.5):
        make.sysctl("tcp_congestion_control", "reno")
    agreed = opened(make)
    count = make.random.randint(3, 10)
    size = agreed.payload
    make.add(f"write(4, ..., {count * size}) = ...", 0.01)
    acked = 0
    for _ in range(make.random.randint(2, 9)):
        if make.chance(0.5):
            acked = min(count, acked + make.random.randint(0, 3))
        blocks = []
        if agreed.sack and make.chance(0.8):
            for _ in range(make.random.randint(1, 3)):
                left = make.random.randint(max(0, acked - 1), count)
                right = min(count, left + make.random.randint(1, 3))
                if left < right:
                    blocks.append(f"{1 + left * size}:{1 + right * size}")
        after = make.pick(0, 0.001, 0.005, 0.015, 0.03, 0.07, 0.13, 0.27)
        options = agreed.options(make.now + after, " ".join(blocks))
        make.add(f"< . 1:1(0) ack {1 + acked * size} win 512{options}", after)


def receiving(make: Builder) -> None:
    """Segments in any order, repeated, overlapping; reads now and then."""
    calls = []
    if make.chance(0.3):
        calls.append(
            f"setsockopt(3, SOL_SOCKET, SO_RCVBUF, [{make.pick(4096, 10000, 20000, 60000)}], 4) = 0"
        )
    agreed = opened(make, calls=tuple(calls))
    size = make.pick(agreed.payload, agreed.payload, 100, 10)
    position = 0
    received: list[int] = []
    for _ in range(make.random.randint(3, 14)):
        after = make.pick(0, 0, 0.002, 0.007, 0.017, 0.033, 0.07, 0.25)
        kind = make.random.random()
        if kind < 0.15:
            make.add(
                f"recv(4, ..., {make.pick(100, 1000, 5000, 100000)}, MSG_DONTWAIT) = ...", after
            )
            continue
        if kind < 0.25:
            make.add(f"send(4, ..., {make.pick(1, 100, 1000)}, MSG_DONTWAIT) = ...", after)
            continue
        if kind < 0.35 and received:
            first = make.pick(*received)
        elif kind < 0.6:
            first = position + size * make.random.randint(1, 4)
        else:
            first = position
            position += size
        received.append(first)
        length = size if make.chance(0.85) else make.random.randint(1, 2 * size)
        first = max(0, first + make.pick(0, 0, 0, 0, 0, -5, 7))
        flags = make.pick(".", ".", "P.")
        options = agreed.options(make.now + after)
        make.add(
            f"< {flags} {1 + first}:{1 + first + length}({length}) ack 1 win 512{options}", after
        )
    if make.chance(0.3):
        make.add(
            f"< F. {1 + position}:{1 + position}(0) ack 1 win 512{agreed.options(make.now)}", 0.015
        )


def stream(make: Builder) -> None:
    """Let a peer send a lot in order, and an application read when it likes."""
    calls = []
    if make.chance(0.5):
        calls.append(
            f"setsockopt(3, SOL_SOCKET, SO_RCVBUF, [{make.pick(2000, 8000, 20000, 100000)}], 4) = 0"
        )
    agreed = opened(make, calls=tuple(calls))
    size = make.pick(agreed.payload, agreed.payload, 300)
    position = 1
    for _ in range(make.random.randint(2, 8)):
        after = make.pick(0.005, 0.017, 0.063, agreed.rtt)
        for number in range(make.random.randint(1, 12)):
            begin = after if number == 0 else 0
            options = agreed.options(make.now + begin)
            make.add(f"< . {position}:{position + size}({size}) ack 1 win 512{options}", begin)
            position += size
        if make.chance(0.6):
            make.add(
                f"recv(4, ..., {make.pick(size, 3 * size, 100000)}, MSG_DONTWAIT) = ...",
                make.pick(0, 0.005, 0.02),
            )


def switches(make: Builder) -> None:
    """Switch some options of TCP on or off."""
    for name in ("tcp_sack", "tcp_timestamps", "tcp_window_scaling"):
        if make.chance(0.2):
            make.sysctl(name, make.pick("0", "1"))


def syn_options(make: Builder, sizes: tuple[int, ...], scales: tuple[int, ...], stamp: str) -> str:
    """Choose the options of the peer's SYN."""
    parts = []
    if make.chance(0.8):
        parts.append(f"mss {make.pick(*sizes)}")
    if make.chance(0.5):
        parts += ["nop", "nop", "sackOK"]
    if make.chance(0.4):
        parts += ["nop", "nop", stamp]
    if make.chance(0.6):
        parts += ["nop", f"wscale {make.pick(*scales)}"]
    return f" <{','.join(parts)}>" if parts else ""


def opening(make: Builder) -> None:
    """Open passively with options of all kinds, lost and wrong packets."""
    switches(make)
    make.add("socket(..., SOCK_STREAM, IPPROTO_TCP) = 3")
    make.add("fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0")
    make.add("bind(3, ..., ...) = 0")
    make.add("listen(3, 1) = 0")
    sizes = (0, 10, 88, 536, 1000, 1460, 9000, 65535)
    options = syn_options(make, sizes, (0, 1, 7, 14, 15), "TS val 1000 ecr 0")
    flags = make.pick("S", "S", "S", "S", "SEW", "SF", "SP")
    size = make.pick(0, 0, 0, 0, 100)
    window = make.pick(0, 10, 1000, 32792, 65535)
    make.add(f"< {flags} 0:{size}({size}) win {window}{options}")
    for _ in range(make.random.randint(1, 5)):
        after = make.pick(0.01, 0.05, 0.1, 0.7, 1.13)
        stamp = f" <nop,nop,TS val {1000 + round(1000 * (make.now + after))} ecr 100>"
        bare = stamp if "TS" in options and make.chance(0.9) else ""
        number = make.pick(0, 1, 2, 70000)
        first = make.pick(1, 1, 101)
        packet = make.pick(
            f"{flags} 0:{size}({size}) win 1000{options}",
            f". 1:1(0) ack {make.pick(0, 2, 1000, 4294967295)} win 1000{bare}",
            f"R {number}:{number}(0) win 0",
            f"P. {first}:{first + 100}(100) ack 1 win 1000{bare}",
            f"F. 1:1(0) ack 1 win 1000{bare}",
            f". 1:1(0) ack 1 win {make.pick(0, 10, 1000)}{bare}",
            f". 1:1(0) ack 1 win {make.pick(0, 10, 1000)}{bare}",
        )
        make.add(f"< {packet}", after)
    make.add("accept(3, ..., ...) = 4", 0.01)
    if make.recorder.record("sim", make.text()).startswith("failed"):
        # There is nothing to accept.
        make.stimuli.pop()
        return
    make.add("write(4, ..., 3000) = ...", 0.01)


def connecting(make: Builder) -> None:
    """Open actively, and answer well, badly, late or not at all."""
    switches(make)
    make.add("socket(..., SOCK_STREAM|SOCK_NONBLOCK, IPPROTO_TCP) = 3")
    make.add("connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)")
    sizes = (0, 88, 536, 1000, 1460, 9000)
    options = syn_options(make, sizes, (0, 7, 14), "TS val 700 ecr 100")
    for _ in range(make.random.randint(1, 3)):
        packet = make.pick(
            f"S. 5000:5000(0) ack 2 win 1000{options}",
            f"S 5000:5000(0) win 1000{options}",
            "R. 0:0(0) ack 1 win 0",
            "R. 0:0(0) ack 7 win 0",
            f". 5000:5000(0) ack {make.pick(0, 1)} win 1000{options}",
            *[f"S. 5000:5000(0) ack 1 win {make.pick(0, 10, 1000, 65535)}{options}"] * 5,
        )
        make.add(f"< {packet}", make.pick(0.01, 0.05, 0.1, 0.7, 1.17))
    make.add("write(3, ..., 3000) = ...", 0.01)
    stamp = " <nop,nop,TS val 900 ecr 110>" if "TS" in options else ""
    make.add(f"< . 5001:5001(0) ack {make.pick(1, 1001, 3001)} win 1000{stamp}", 0.02)


def closing(make: Builder) -> None:
    """All ways to end a connection, in any order."""
    calls = []
    if make.chance(0.2):
        calls.append(
            f"setsockopt(3, SOL_SOCKET, SO_LINGER, {{onoff=1, linger={make.pick(0, 1)}}}, 8) = 0"
        )
    agreed = opened(make, calls=tuple(calls))
    ours = 1
    theirs = 1
    open_ = True
    finished = False
    for _ in range(make.random.randint(3, 10)):
        after = make.pick(0, 0.005, 0.02, 0.06, 0.25)
        kind = make.random.random()
        options = agreed.options(make.now + after)
        if kind < 0.15 and open_:
            size = make.pick(100, agreed.payload, 2500)
            make.add(f"send(4, ..., {size}, MSG_DONTWAIT|MSG_NOSIGNAL) = ...", after)
            ours += size
        elif kind < 0.25 and open_:
            make.add("recv(4, ..., 5000, MSG_DONTWAIT) = ...", after)
        elif kind < 0.35 and open_:
            make.add(f"shutdown(4, {make.pick('SHUT_WR', 'SHUT_RD', 'SHUT_RDWR')}) = ...", after)
            finished = True
        elif kind < 0.5 and open_:
            make.add("close(4) = ...", after)
            open_ = False
            finished = True
        elif kind < 0.7:
            ack = make.pick(ours, ours, ours + finished, ours + finished, 1)
            flags = make.pick("F.", "F.", "FP.")
            size = make.pick(0, 0, 100)
            make.add(
                f"< {flags} {theirs}:{theirs + size}({size}) ack {ack} win 512{options}", after
            )
            if make.chance(0.8):
                theirs += size + 1
        elif kind < 0.8:
            size = make.pick(1, 100, agreed.payload)
            ack = make.pick(ours, ours + finished)
            make.add(f"< P. {theirs}:{theirs + size}({size}) ack {ack} win 512{options}", after)
            theirs += size
        elif kind < 0.86:
            number = theirs + make.pick(0, 0, 0, 1, -1, 30000, 2000000)
            if number >= 0:
                flags = make.pick("R", "R.")
                acknowledged = f" ack {ours}" if "." in flags else ""
                make.add(f"< {flags} {number}:{number}(0){acknowledged} win 512", after)
        elif kind < 0.9:
            number = make.pick(0, theirs, theirs + 1000)
            make.add(f"< S {number}:{number}(0) win 1000 <mss 1000>", after)
        else:
            ack = make.pick(1, ours, ours + finished, ours + finished)
            make.add(f"< . {theirs}:{theirs}(0) ack {ack} win 512{options}", after)
