//! Strictness: accepted and refused packets.

use super::{after_accept, failure, options, run};
use fairwind_packetdrill::{EchoRule, Outcome, RunOptions, TrailingPackets, run_script};
use fairwind_tcp::Profile;

#[test]
fn segments_match_larger_packet_unless_forbidden() {
    let script = "+0 write(4, ..., 1500) = 1500\n+0 > P. 1:1501(1500) ack 1\n";
    assert_eq!(after_accept(script), Outcome::Passed);
    let strict = format!("--strict_segments\n{}{script}", super::ACCEPTED);
    assert!(failure(run(&strict)).contains("flags: expected P., seen ."));
}

/// Segmentation cuts one packet; two packets of the endpoint with a PSH each are not that.
#[test]
fn strict_refuses_push_before_last_segment() {
    let script = "\
+0 write(4, ..., 1000) = 1000
+0 write(4, ..., 1000) = 1000
+0 > P. 1:2001(2000) ack 1
";
    assert!(failure(after_accept(script)).contains("flags: expected ., seen P."));
    let usual = RunOptions::new(Profile::Linux6_18);
    let script = format!("{}{script}", super::ACCEPTED);
    assert_eq!(run_script("test.pkt", &script, &usual), Outcome::Passed);
    assert!(failure(run_script("test.pkt", &format!("--strict\n{script}"), &usual)).contains("P."));
    // Only the PSH of the last segment counts.
    let unpushed = script.replace("P. 1:2001", ". 1:2001");
    assert!(failure(run_script("test.pkt", &unpushed, &usual)).contains("expected ., seen P."));
}

#[test]
fn partial_packet_fails() {
    let script = "+0 write(4, ..., 1500) = 1500\n+0 > P. 1:2501(2500) ack 1\n";
    let message = failure(after_accept(script));
    assert!(message.contains("flags: expected ., seen P."), "{message}");
}

#[test]
fn early_late_or_missing_packet_fails() {
    let data = "+0 write(4, ..., 100) = 100\n";
    for (expected, complaint) in [
        ("+.01 > P. 1:101(100) ack 1\n", "the time: expected 0.11 s, seen 0.1 s"),
        ("+.0039 > P. 1:101(100) ack 1\n", ""),
        (".05 > P. 1:101(100) ack 1\n", "the time: expected 0.05 s, seen 0.1 s"),
        ("+.001~+.01 > P. 1:101(100) ack 1\n", ""),
        ("* > P. 1:101(100) ack 1\n", ""),
        ("+0 > P. 1:101(100) ack 1\n+.1 > P. 1:101(100) ack 1\n", "no packet came until 0.2125 s"),
    ] {
        let outcome = after_accept(&format!("{data}{expected}"));
        if complaint.is_empty() {
            assert_eq!(outcome, Outcome::Passed, "{expected}");
        } else {
            let message = failure(outcome);
            assert!(message.contains(complaint), "{expected}: {message}");
        }
    }
}

/// An eighth of the gap is the tolerance if it exceeds 4 ms.
#[test]
fn tolerance_grows_with_the_gap() {
    let script = |gap: &str| {
        after_accept(&format!(
            "+0 write(4, ..., 100) = 100\n+0 > P. 1:101(100) ack 1\n{gap} > P. 1:101(100) ack 1\n"
        ))
    };
    // The time-out expires after 0.3 s.
    assert_eq!(script("+.335"), Outcome::Passed);
    assert_eq!(script("+.267"), Outcome::Passed);
    assert!(matches!(script("+.345"), Outcome::Failed(_)));
    assert!(matches!(script("+.266"), Outcome::Failed(_)));
}

#[test]
fn trailing_packets_fail_unless_ignored() {
    let script = format!("{}+0 write(4, ..., 100) = 100\n", super::ACCEPTED);
    let message = failure(run(&script));
    assert!(message.contains("a packet that nobody expected: > P. 1:101(100) ack 1"), "{message}");
    let lenient = RunOptions { trailing: TrailingPackets::default(), ..options() };
    assert_eq!(run_script("test.pkt", &script, &lenient), Outcome::Passed);
}

#[test]
fn echoed_timestamps_are_compared_when_strict() {
    let script = "\
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000,sackOK,TS val 7 ecr 0>
+0 > S. 0:0(0) ack 1 <mss 1460,sackOK,TS val 1 ecr 8>
";
    assert!(failure(run(script)).contains("the options"));
    let lenient = RunOptions { echo: EchoRule::Ignored, ..options() };
    assert_eq!(run_script("test.pkt", script, &lenient), Outcome::Passed);
}

#[test]
fn failure_shows_dialogue_up_to_its_line() {
    let outcome =
        after_accept("+0 write(4, ..., 100) = 100\n+0 > P. 1:91(90) ack 1\n+1 close(4) = 0");
    let Outcome::Failed(failure) = outcome else { panic!("{outcome:?}") };
    assert_eq!(failure.line, Some(9));
    assert_eq!(failure.message, "the payload's bytes: expected 90, seen 100");
    let last = failure.dialogue.last().unwrap();
    assert_eq!((last.line, last.expected.as_str()), (Some(9), "+0 > P. 1:91(90) ack 1"));
    assert_eq!(last.seen[0], "> P. 1:101(100) ack 1 win 63");
    assert_eq!(failure.dialogue.len(), 9);
    assert!(failure.dialogue_text().contains("+0.1 < . 1:1(0) ack 1 win 512"));
}

#[test]
fn an_injected_packet_needs_a_window() {
    assert!(failure(after_accept("+0 < . 1:1(0) ack 1\n")).contains("needs a window"));
}

/// A payload larger than a segment arrives as one, as from a device that joins segments.
#[test]
fn injected_payload_may_exceed_mss() {
    let script = "\
+0 < P. 1:5001(5000) ack 1 win 512
+0 > . 1:1(0) ack 5001
+0 read(4, ..., 9000) = 5000
";
    assert_eq!(after_accept(script), Outcome::Passed);
}

/// Between two injected packets the script's times count, also where the first came late.
#[test]
fn injection_follows_scripted_time_of_another() {
    let script = "\
.05 < P. 1:101(100) ack 1 win 512
+.1 < P. 101:201(100) ack 1 win 512
* > . 1:1(0) ack 101
.15 > . 1:1(0) ack 201
+.1 < P. 201:301(100) ack 1 win 512
.25 > . 1:1(0) ack 301
";
    assert_eq!(after_accept(script), Outcome::Passed);
}

/// After the SYN of either side, numbers are relative to it.
#[test]
fn numbers_are_relative_to_syn() {
    let script = "\
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 7000:7000(0) win 65535 <mss 1000,sackOK>
+0 > S. 400:400(0) ack 7001 <mss 1460,nop,nop,sackOK>
+.1 < . 1:1(0) ack 1 win 512
+0 accept(3, ..., ...) = 4
+0 < P. 101:201(100) ack 1 win 512
+0 > . 1:1(0) ack 1 <nop,nop,sack 101:201>
+0 write(4, ..., 10) = 10
+0 > P. 1:11(10) ack 1 <...>
";
    assert_eq!(run(script), Outcome::Passed);
}

/// Only strict comparison checks packets of other connections.
#[test]
fn packets_of_other_connections_pass_by() {
    let script = format!(
        "{}+0 close(4) = 0\n+0 close(3) = 0\n{}",
        super::ACCEPTED,
        super::ACCEPTED.replace("\n0 ", "\n+0 ").replacen("0 socket", "+0 socket", 1)
    );
    assert!(failure(run(&script)).contains("flags: expected S., seen F."));
    let usual = RunOptions::new(Profile::Linux6_18);
    assert_eq!(run_script("test.pkt", &script, &usual), Outcome::Passed);
}

/// An open descriptor may be allocated again: it belongs to the new socket until that is closed.
#[test]
fn a_descriptor_may_hide_another() {
    let script = "\
+0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 4
+0 write(4, ..., 10) = -1 EPIPE
+0 close(4) = 0
+0 write(4, ..., 10) = 10
+0 > P. 1:11(10) ack 1
";
    assert_eq!(after_accept(script), Outcome::Passed);
}

/// The definitions of the kernel's runner exist here, by IP version.
#[test]
fn names_of_the_kernels_runner_are_known() {
    let script = "\
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 setsockopt(3, CMSG_LEVEL_IP, CMSG_TYPE_RECVERR, [1], 4) = 0
";
    for version in ["ipv4", "ipv6", "ipv4-mapped-ipv6"] {
        assert_eq!(run(&format!("--ip_version={version}\n{script}")), Outcome::Passed, "{version}");
    }
}
