//! Shell commands.

use super::{after_accept, failure, options, run};
use fairwind_packetdrill::{Files, Outcome, RunOptions, run_script};

fn reason(outcome: Outcome) -> String {
    match outcome {
        Outcome::Unsupported(unsupported) => unsupported.to_string(),
        other => panic!("not unsupported: {other:?}"),
    }
}

#[test]
fn ignored_parameters_accept_only_known_values() {
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
        "sysctl -q net.ipv4.tcp_ecn=6",
        "sysctl -q net.ipv4.tcp_unheard_of=1",
        "sysctl -q net.core.wmem_max=1",
        "sysctl -q net.ipv4.tcp_sack=maybe",
        "ip route replace default via 10.0.0.1 quickack 2",
        "tc qdisc add dev tun0 root netem delay 1ms",
        "iptables -A INPUT -j DROP",
        "sysctl -q net.ipv4.tcp_sack=1 | cat",
    ] {
        assert!(!reason(script(command)).is_empty(), "{command}");
    }
}

/// Each setting reaches the endpoint, as the SYN shows.
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

const BARE_SYN: &str = "\
0 socket(..., SOCK_STREAM|SOCK_NONBLOCK, IPPROTO_TCP) = 3
+0 connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)
+0 > S 0:0(0) <mss 1460>
";

fn with_files(text: &str) -> Outcome {
    let files = Files::reading(|path| {
        let text = match path {
            "../common/set-up.sh" => {
                "#!/bin/bash\nN=0\n./sack.sh  # for a start\nsysctl -q net.ipv4.tcp_timestamps=$N && true\n"
            }
            "./sack.sh" => "sysctl -q net.ipv4.tcp_sack=0",
            "./endless.sh" => "./endless.sh",
            "./program" => "#!/usr/bin/perl",
            _ => return None,
        };
        Some(text.to_owned())
    });
    run_script("test.pkt", text, &RunOptions { files, ..options() })
}

#[test]
fn shell_scripts_are_executed() {
    let script = format!(
        "`../common/set-up.sh\n../common/set_sysctls.py /proc/sys/net/ipv4/tcp_window_scaling=0`\n{BARE_SYN}"
    );
    assert_eq!(with_files(&script), Outcome::Passed);
    for (command, complaint) in [
        ("./endless.sh", "`./endless.sh` runs itself"),
        ("./program", "`./program` is not a script of a shell"),
        ("./absent.sh", "nor can it be read"),
    ] {
        let reason = reason(with_files(&format!("`{command}`\n{BARE_SYN}")));
        assert!(reason.contains(complaint), "{command}: {reason}");
    }
}

#[test]
fn commands_run_as_they_are_joined() {
    let off =
        "sysctl -q net.ipv4.tcp_sack=0 net.ipv4.tcp_timestamps=0 net.ipv4.tcp_window_scaling=0";
    for joined in
        ["true && ", "false || ", "true ; ", "false && reboot ; ", "true || reboot\n", "( "]
    {
        let script = format!("`{joined}{off}`\n{BARE_SYN}");
        match joined {
            "( " => assert!(reason(run(&script)).contains("`(`")),
            _ => assert_eq!(run(&script), Outcome::Passed, "{joined}"),
        }
    }
    assert!(failure(run(&format!("`true; false`\n{BARE_SYN}"))).contains("fails"));
}

#[test]
fn a_command_that_sleeps_lets_time_pass() {
    let script = "\
+0 write(4, ..., 100) = 100
+0 > P. 1:101(100) ack 1
+0 `sleep 0.1`
+0 < . 1:1(0) ack 101 win 512
+0 %{ assert 99000 < tcpi_rtt < 101000, tcpi_rtt }%
";
    assert_eq!(after_accept(script), Outcome::Passed);
}

/// A route is written as a whole.
#[test]
fn replaced_route_resets_its_metrics() {
    let script = "\
`sysctl -q net.ipv4.tcp_sack=0 net.ipv4.tcp_timestamps=0 net.ipv4.tcp_window_scaling=0
ip route change default via 192.168.0.2 dev tun0 initcwnd 2 advmss 1000
ip ro replace 192.0.2.0/24 via 192.168.0.2 dev tun0`
";
    assert_eq!(run(&format!("{script}{BARE_SYN}")), Outcome::Passed);
    let lock = script.replace("dev tun0`", "dev tun0 mtu lock 1040`");
    assert_eq!(run(&format!("{lock}{}", BARE_SYN.replace("1460", "1000"))), Outcome::Passed);
}

#[test]
fn plugged_control_has_scenario_or_kernel_name() {
    for name in ["reno-c", "fw_reno"] {
        let script = format!(
            "`sysctl -q net.ipv4.tcp_congestion_control={name}`\n\
             0 socket(..., SOCK_STREAM|SOCK_NONBLOCK, IPPROTO_TCP) = 3\n\
             +0 getsockopt(3, SOL_TCP, TCP_CONGESTION, \"reno-c\", [16]) = 0\n"
        );
        assert_eq!(run(&script), Outcome::Passed, "{name}");
    }
}

#[test]
fn inspection_fails_without_a_match() {
    assert_eq!(
        after_accept("+0 `grep \" 0A \" /proc/net/tcp | grep \":1F90\"`\n"),
        Outcome::Passed
    );
    assert_eq!(after_accept("+0 `cat /proc/net/tcp | grep -q \" 01 \"`\n"), Outcome::Passed);
    let nothing = after_accept("+0 close(3) = 0\n+0 `grep \" 0A \" /proc/net/tcp`\n");
    assert!(failure(nothing).contains("finds nothing"));
    let unknown = after_accept("+0 `nstat | grep TcpExtUnheardOf`\n");
    assert!(reason(unknown).contains("the counter TcpExtUnheardOf"));
}

#[test]
fn icmp_about_unsent_data_is_counted() {
    let counted = "+0 `nstat | grep TcpExtOutOfWindowIcmps | grep -q \" 1 \"`\n";
    let about = |first: u32| {
        format!(
            "+0 `nstat -n`\n+0 write(4, ..., 100) = 100\n+0 > P. 1:101(100) ack 1\n\
             +0 < icmp unreachable [{first}:{}(100)]\n{counted}",
            first + 100
        )
    };
    assert_eq!(after_accept(&about(5000)), Outcome::Passed);
    assert!(failure(after_accept(&about(1))).contains("finds nothing"));
    // `nstat` shows a count only once.
    assert!(failure(after_accept(&format!("{}{counted}", about(5000)))).contains("finds nothing"));
}

#[test]
fn option_names_commands_to_run_first() {
    let files = Files::reading(|path| {
        let known = path.trim_start_matches("./") == "bare.sh";
        known.then(|| {
            "#!/bin/sh\nsysctl -q net.ipv4.tcp_sack=0 net.ipv4.tcp_timestamps=0 \
             net.ipv4.tcp_window_scaling=0\n"
                .to_owned()
        })
    });
    let options = RunOptions { files, ..options() };
    let script = format!("--init_scripts=bare.sh\n{BARE_SYN}");
    assert_eq!(run_script("test.pkt", &script, &options), Outcome::Passed);
}
