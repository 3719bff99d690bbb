//! Missing features make a script unsupported, never passed.

use super::after_accept;
use fairwind_packetdrill::Outcome;

fn reason(outcome: Outcome) -> String {
    match outcome {
        Outcome::Unsupported(unsupported) => unsupported.to_string(),
        other => panic!("not unsupported: {other:?}"),
    }
}

#[test]
fn missing_feature_is_named_with_its_line() {
    for (line, missing) in [
        ("+0 < [1:1001(1000)] icmp unreachable by_nobody\n", "by_nobody"),
        ("+0 setsockopt(4, SOL_TCP, TCP_REPAIR, [1], 4) = 0\n", "TCP_REPAIR"),
        ("+0 vmsplice(4, 5) = 0\n", "the call vmsplice"),
        ("+0 %{ assert tcpi_colour == 0 }%\n", "`tcpi_colour`"),
        ("+0 `reboot`\n", "`reboot` is not on the list"),
        ("+0 < . 1:1(0) ack 1 win 512 <anything 1>\n", "`anything 1`"),
    ] {
        let reason = reason(after_accept(line));
        assert!(reason.starts_with("test.pkt:8: "), "{reason}");
        assert!(reason.contains(missing), "{line}: {reason}");
    }
}

#[test]
fn sent_icmp_is_unsupported() {
    let reason = reason(after_accept("+0 > icmp unreachable port_unreachable [1:1001(1000)]\n"));
    assert!(reason.contains("messages of the system"), "{reason}");
}
