//! Parse errors: position and expected token.

use fairwind_packetdrill::Script;
use std::collections::BTreeMap;

fn complaint(text: &str) -> String {
    Script::parse("a.pkt", text, &BTreeMap::new()).expect_err("no script").to_string()
}

#[test]
fn errors_name_position_and_expected_token() {
    let cases = [
        (
            "0 > . 1:5(5) ack 1",
            "a.pkt:1:9: expected an end that is the beginning plus the payload, found `5`",
        ),
        ("0 socket(1", "a.pkt:1:11: expected `,` or `)`, found the end of the script"),
        (
            "\n 0 > X 1:1(0)",
            "a.pkt:2:6: expected flags (letters of SFRPUEWA, `.`, or `-` for none), found `X`",
        ),
        (
            "0 > . 1:1(0) win 65536",
            "a.pkt:1:18: expected a window field, at most 65535, found `65536`",
        ),
        ("0 > . 1:1(0) <mss>", "a.pkt:1:18: expected a segment size, at most 65535, found `>`"),
        (
            "0 > [ect2] . 1:1(0)",
            "a.pkt:1:6: expected noecn, ect0, ect1, ect01, ce, tos, flowlabel or ttl, found `ect2`",
        ),
        ("0 close(3)", "a.pkt:1:11: expected `=`, found the end of the script"),
        ("hello", "a.pkt:1:1: expected a time in seconds, found `hello`"),
        ("0 %{ assert", "a.pkt:1:3: expected `}%` after `%{`, found the end of the script"),
        ("// nothing happens", "a.pkt:1:19: expected an event, found the end of the script"),
        (
            "2~1 close(3) = 0",
            "a.pkt:1:3: expected a time that is not before the beginning of its range, found `1`",
        ),
        (
            "0 f(99999999999999999999) = 0",
            "a.pkt:1:5: expected a number of at most 64 bits, found `99999999999999999999`",
        ),
        (
            "0.0000000001 f() = 0",
            "a.pkt:1:1: expected a time below 30 days with at most nine decimals, found `0.0000000001`",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(complaint(text), expected, "{text}");
    }
}

#[test]
fn nesting_without_end_is_refused() {
    let text = format!("0 f({}", "[".repeat(100_000));
    assert!(complaint(&text).contains("nested less deeply"));
}

/// A long sequence is no nesting: it must neither be refused nor exhaust the stack.
#[test]
fn a_long_union_is_read() {
    let text = format!("0 f({}1) = 0", "1|".repeat(100_000));
    assert!(Script::parse("a.pkt", &text, &BTreeMap::new()).is_ok());
}
