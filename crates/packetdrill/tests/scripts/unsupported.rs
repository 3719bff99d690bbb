//! What the endpoint does not have makes a script unsupported, never passed.

use super::{after_accept, run};
use fairwind_packetdrill::Outcome;

fn reason(outcome: Outcome) -> String {
    match outcome {
        Outcome::Unsupported(unsupported) => unsupported.to_string(),
        other => panic!("not unsupported: {other:?}"),
    }
}

#[test]
fn what_is_missing_is_named_with_its_line() {
    for (line, missing) in [
        ("+0 < [1:1001(1000)] icmp unreachable frag_needed mtu 1200\n", "ICMP"),
        ("+0 send(4, ..., 1, MSG_OOB) = 1\n", "0x1 of send"),
        ("+0 send(4, ..., 1, MSG_MORE) = 1\n", "0x8000 of send"),
        ("+0 setsockopt(4, SOL_TCP, TCP_CORK, [1], 4) = 0\n", "TCP_CORK"),
        ("+0 setsockopt(4, SOL_TCP, TCP_NODELAY, [1], 4) = 0\n", "once a connection has begun"),
        ("+0 splice(4, 5) = 0\n", "the call splice"),
        ("+0 %{ assert tcpi_total_retrans == 0 }%\n", "`tcpi_total_retrans`"),
        ("+0 `sysctl -q net.ipv4.tcp_sack=0`\n", "has begun"),
        ("+0 `reboot`\n", "`reboot` is not on the list"),
        ("+0 < . 1:1(0) ack 1 win 512 <anything 1>\n", "`anything 1`"),
    ] {
        let reason = reason(after_accept(line));
        assert!(reason.starts_with("test.pkt:8: "), "{reason}");
        assert!(reason.contains(missing), "{line}: {reason}");
    }
}

#[test]
fn kernel_parameters_without_meaning_are_accepted_with_known_values_only() {
    let script =
        |command: &str| run(&format!("`{command}`\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n"));
    for command in [
        "./defaults.sh",
        "sysctl -q net.ipv4.tcp_ecn=0 net.ipv4.tcp_dsack=1",
        "echo 0 > /proc/sys/net/ipv4/tcp_early_retrans",
        "ethtool -K tun0 tso off gso off; tc qdisc replace dev tun0 root pfifo",
        "ip tcp_metrics flush all &&\n sysctl -q net.ipv4.tcp_wmem=\"4096 16384 4194304\"",
    ] {
        assert_eq!(script(command), Outcome::Passed, "{command}");
    }
    for command in [
        "sysctl -q net.ipv4.tcp_ecn=1",
        "sysctl -q net.ipv4.tcp_unheard_of=1",
        "sysctl -q net.core.rmem_max=1",
        "sysctl -q net.ipv4.tcp_sack=maybe",
        "ip route replace default via 10.0.0.1 quickack 1",
        "tc qdisc add dev tun0 root netem delay 1ms",
        "iptables -F",
    ] {
        assert!(!reason(script(command)).is_empty(), "{command}");
    }
}

/// Each switch reaches the endpoint: the SYN shows what it offers.
#[test]
fn kernel_parameters_reach_the_endpoint() {
    let script = "\
`sysctl -q net.ipv4.tcp_sack=0 net.ipv4.tcp_timestamps=0 net.ipv4.tcp_window_scaling=0`
0 socket(..., SOCK_STREAM|SOCK_NONBLOCK, IPPROTO_TCP) = 3
+0 connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)
+0 > S 0:0(0) <mss 1460>
";
    assert_eq!(run(script), Outcome::Passed);
}
