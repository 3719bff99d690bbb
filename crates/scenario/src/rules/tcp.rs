//! Rules about a TCP endpoint's settings.

use super::Rules;
use super::flows::{ip_version, mtu};
use crate::error::nearest;
use crate::input::ScenarioInput;
use crate::{Congestion, TcpSettings};
use fairwind_units::{ByteCount, Span};

/// The TCP header's length field leaves 40 bytes for options (RFC 9293 section 3.1).
const LONGEST_OPTIONS: ByteCount = ByteCount::new(40);

/// Round trips are divided by the interval of bundling streams in microseconds.
const LEAST_INTERVAL: Span = Span::from_micros(1);

/// The largest window that window scaling can announce (RFC 7323 section 2.3).
const LARGEST_BUFFER: ByteCount = ByteCount::new(1 << 30);

pub(super) fn check(rules: &mut Rules<'_>, tcp: &TcpSettings, key: &str, input: &ScenarioInput) {
    congestion_is_known(rules, tcp, &format!("{key}.congestion"));
    timeouts_are_ordered(rules, tcp, key);
    bundles_are_possible(rules, tcp, key);
    repairs_are_judged_once(rules, tcp, key);
    super::sharing::check(rules, tcp, key, input.duration);
    buffer_is_possible(rules, &format!("{key}.receive_buffer"), tcp.receive_buffer);
    buffer_is_possible(rules, &format!("{key}.send_buffer"), tcp.send_buffer);
    let mss_key = format!("{key}.mss");
    let (mtu, mtu_key) = mtu(input);
    let largest = mtu.saturating_sub(ByteCount::new(ip_version(input).header_bytes()));
    match tcp.mss {
        Some(mss) if mss <= LONGEST_OPTIONS => {
            let rule = format!("more than {LONGEST_OPTIONS}: options may take as much of it");
            rules.broken(&mss_key, format!("it must be {rule} (RFC 9293 section 3.1)"));
        }
        Some(mss) if mss > largest => {
            let rule = format!("a packet of {mtu} has room for {largest} beside its headers");
            rules.report(&[&mss_key, mtu_key], rule, None);
        }
        _ => {}
    }
}

fn congestion_is_known(rules: &mut Rules<'_>, tcp: &TcpSettings, key: &str) {
    let Some(Congestion::Plugged(name)) = &tcp.congestion else {
        return own_controls_have_no_parameters(rules, key);
    };
    let mut known: Vec<&str> = Congestion::known().collect();
    known.extend(rules.recordings.controls());
    if known.contains(&name.as_str()) {
        return;
    }
    let rule = format!("known are {}", known.join(", "));
    let hint = nearest(name.as_str(), known.iter().copied()).map_or_else(
        || {
            let name = name.as_str();
            format!(
                "one of your own becomes known by `fairwind congestion build {name}.c`, \
                 a class of Python where it is given to `run(congestion=...)`"
            )
        },
        |word| format!("did you mean \"{word}\"?"),
    );
    rules.report(&[key], rule, Some(hint));
}

fn own_controls_have_no_parameters(rules: &mut Rules<'_>, key: &str) {
    let (node, true) = rules.node.locate(key) else { return };
    if node.get("name").is_none() {
        return; // it is reported as missing
    }
    let set: Vec<String> = node.entries().iter().map(|(name, _)| name.clone()).collect();
    for name in set.iter().filter(|name| *name != "name") {
        let rule = "a congestion control of the endpoint has no parameters";
        let hint = "only classes of Python and C files have them";
        rules.broken_with_hint(&[&format!("{key}.{name}")], rule, hint);
    }
}

/// Time tells of a lost retransmission as of any other segment. It is only told, for a sweep over profiles may have
/// the key where it says something.
fn repairs_are_judged_once(rules: &mut Rules<'_>, tcp: &TcpSettings, key: &str) {
    if tcp.lost_retransmission_detection.is_some() && tcp.finds_losses_by_time() {
        let keys = ["lost_retransmission_detection", "loss_detection", "profile"];
        let keys = keys.map(|name| format!("{key}.{name}"));
        let rule = "losses are found by time here (RACK), those of retransmissions, too: it does nothing; leave it out, or \
                    set loss_detection = \"forward\" or \"rfc6675\"";
        rules.warn(&keys.each_ref().map(String::as_str), rule);
    }
}

fn bundles_are_possible(rules: &mut Rules<'_>, tcp: &TcpSettings, key: &str) {
    if tcp.redundant_bytes == Some(ByteCount::ZERO) {
        let rule = "a bundle carries something: leave the key out for full segments, or set \
                    redundant_bundling = false";
        rules.broken(&format!("{key}.redundant_bytes"), rule);
    }
    if tcp.redundant_interval.is_some_and(|interval| interval < LEAST_INTERVAL) {
        let rule = format!("it must be {LEAST_INTERVAL} or more: shorter ones are not told apart");
        rules.broken(&format!("{key}.redundant_interval"), rule);
    }
}

fn buffer_is_possible(rules: &mut Rules<'_>, key: &str, size: Option<ByteCount>) {
    match size {
        Some(ByteCount::ZERO) => rules.broken(key, "nothing would fit in a buffer of no bytes"),
        Some(size) if size > LARGEST_BUFFER => {
            rules.broken(key, "no window is larger than 1 GiB (RFC 7323 section 2.3)");
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
