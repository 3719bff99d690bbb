//! Rules about a TCP endpoint's settings.

use super::Rules;
use super::flows::mtu;
use crate::input::ScenarioInput;
use crate::{HEADER_BYTES, TcpSettings};
use fairwind_units::{ByteCount, Span};

pub(super) fn check(rules: &mut Rules<'_>, tcp: &TcpSettings, key: &str, input: &ScenarioInput) {
    timeouts_are_ordered(rules, tcp, key);
    for (name, size) in [("receive_buffer", tcp.receive_buffer), ("send_buffer", tcp.send_buffer)] {
        if size == Some(ByteCount::ZERO) {
            rules.broken(&format!("{key}.{name}"), "nothing would fit in a buffer of no bytes");
        }
    }
    let mss_key = format!("{key}.mss");
    let (mtu, mtu_key) = mtu(input);
    let largest = mtu.saturating_sub(ByteCount::new(HEADER_BYTES));
    match tcp.mss {
        Some(ByteCount::ZERO) => rules.broken(&mss_key, "a segment carries one byte or more"),
        Some(mss) if mss > largest => {
            let rule = format!("a packet of {mtu} has room for {largest} beside its headers");
            rules.report(&[&mss_key, mtu_key], rule, None);
        }
        _ => {}
    }
}

fn timeouts_are_ordered(rules: &mut Rules<'_>, tcp: &TcpSettings, key: &str) {
    let name = |name: &str| format!("{key}.{name}");
    let (initial, minimum, maximum) =
        (name("initial_rto"), name("minimum_rto"), name("maximum_rto"));
    let times =
        [(&initial, tcp.initial_rto), (&minimum, tcp.minimum_rto), (&maximum, tcp.maximum_rto)];
    for (key, time) in times {
        if time == Some(Span::ZERO) {
            rules.broken(key, "a time-out is longer than no time");
        }
    }
    let Some(longest) = tcp.maximum_rto else { return };
    for (key, time) in [(&initial, tcp.initial_rto), (&minimum, tcp.minimum_rto)] {
        if time.is_some_and(|time| time > longest) {
            let rule = format!("it must be no more than maximum_rto, {longest}");
            rules.report(&[key, &maximum], rule, None);
        }
    }
}
