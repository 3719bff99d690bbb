//! Mutation tests: an expected packet with any alteration must not match.

use super::options;
use super::repository::parsed;
use fairwind_packetdrill::{
    Action, Direction, EchoRule, EventTime, Mark, Outcome, Packet, RunOptions, Script, TcpOption,
    run,
};
use fairwind_tcp::Profile;
use fairwind_units::Span;
use fairwind_wire::Flags;

/// Compared parts of a timestamp option.
#[derive(Clone, Copy)]
struct Stamps {
    value: bool,
    echo: bool,
}

/// Expected packets like this one but for one thing that is compared.
fn alterations(packet: &Packet, stamps: Stamps) -> Vec<Packet> {
    let mut altered = Vec::new();
    for bit in 0..9 {
        let flags = Flags::from_bits(packet.flags.bits() ^ (1 << bit));
        altered.push(Packet { flags, ..packet.clone() });
    }
    for change in [1, u32::MAX, 1000] {
        // Where a script begins to count with its SYN is its own choice.
        if !packet.flags.contains(Flags::SYN) {
            let sequence = packet.sequence.wrapping_add(change);
            altered.push(Packet { sequence, ..packet.clone() });
        }
        if let Some(number) = packet.acknowledgment {
            let acknowledgment = Some(number.wrapping_add(change));
            altered.push(Packet { acknowledgment, ..packet.clone() });
        }
    }
    altered.push(Packet { payload_bytes: packet.payload_bytes + 1, ..packet.clone() });
    if packet.payload_bytes > 0 {
        altered.push(Packet { payload_bytes: packet.payload_bytes - 1, ..packet.clone() });
    }
    if let Some(window) = packet.window {
        altered.push(Packet { window: Some(window ^ 1), ..packet.clone() });
    }
    // Codepoints are compared if written; `ect01` matches both.
    for mark in [Mark::NotCapable, Mark::Capable0, Mark::Capable1, Mark::CongestionExperienced] {
        if packet.mark.is_some_and(|written| written != mark) {
            altered.push(Packet { mark: Some(mark), ..packet.clone() });
        }
    }
    if let Some(octet) = packet.traffic_class {
        altered.push(Packet { traffic_class: Some(octet ^ 4), ..packet.clone() });
    }
    let urgent = Some(packet.urgent.unwrap_or(0) + 1);
    altered.push(Packet { urgent, ..packet.clone() });
    for options in packet.options.iter().flat_map(|options| altered_lists(options, stamps)) {
        altered.push(Packet { options: Some(options), ..packet.clone() });
    }
    altered
}

/// Alterations of a list of options: in a value, in the order, or by one option.
fn altered_lists(options: &[TcpOption], stamps: Stamps) -> Vec<Vec<TcpOption>> {
    let mut altered = vec![[options, &[TcpOption::NoOperation]].concat()];
    for place in 0..options.len() {
        let mut fewer = options.to_vec();
        fewer.remove(place);
        altered.push(fewer);
        for option in altered_values(&options[place], stamps) {
            let mut other = options.to_vec();
            other[place] = option;
            altered.push(other);
        }
        if place > 0 && options[place] != options[place - 1] {
            let mut swapped = options.to_vec();
            swapped.swap(place, place - 1);
            altered.push(swapped);
        }
    }
    altered
}

fn altered_values(option: &TcpOption, stamps: Stamps) -> Vec<TcpOption> {
    match option {
        TcpOption::NoOperation => vec![TcpOption::End],
        TcpOption::MaximumSegment(bytes) => vec![TcpOption::MaximumSegment(bytes + 1)],
        TcpOption::WindowScale(shift) => vec![TcpOption::WindowScale(shift ^ 1)],
        TcpOption::Sack(blocks) => {
            (0..blocks.len()).flat_map(|at| altered_blocks(blocks, at)).collect()
        }
        TcpOption::Timestamps { value, echo } => {
            let mut altered = Vec::new();
            if stamps.echo {
                altered.push(TcpOption::Timestamps { value: *value, echo: echo ^ 1 });
            }
            if stamps.value {
                // The clock may be off by the tolerance of times.
                altered.push(TcpOption::Timestamps { value: value + 50, echo: *echo });
            }
            altered
        }
        TcpOption::FastOpen(cookie) => vec![
            TcpOption::FastOpen(format!("{cookie}00")),
            TcpOption::FastOpenExperimental(cookie.clone()),
        ],
        TcpOption::FastOpenExperimental(cookie) => {
            vec![TcpOption::FastOpenExperimental(format!("{cookie}00"))]
        }
        TcpOption::AccurateEcn { order, counters } => (0..counters.len())
            .map(|at| {
                let mut counters = counters.clone();
                counters[at] ^= 1;
                TcpOption::AccurateEcn { order: *order, counters }
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn has_timestamps(packet: &Packet) -> bool {
    let mut options = packet.options.iter().flatten();
    options.any(|option| matches!(option, TcpOption::Timestamps { .. }))
}

fn altered_blocks(blocks: &[(u32, u32)], at: usize) -> Vec<TcpOption> {
    let (left, right) = blocks[at];
    [(left + 1, right), (left, right + 1), (right, left)]
        .into_iter()
        .map(|block| {
            let mut other = blocks.to_vec();
            other[at] = block;
            TcpOption::Sack(other)
        })
        .collect()
}

/// Times just outside the tolerance: 4 ms, or an eighth of the time since the event before.
fn altered_times(time: EventTime) -> Vec<EventTime> {
    let change = |after: Span| after / 5 + Span::from_millis(6);
    match time {
        EventTime::Relative(after) => {
            let mut altered = vec![EventTime::Relative(after + change(after))];
            if after > change(after) {
                altered.push(EventTime::Relative(after - change(after)));
            }
            altered
        }
        _ => Vec::new(),
    }
}

fn expected_packets(script: &Script) -> Vec<(usize, Packet)> {
    let events = script.events.iter().enumerate();
    events
        .filter_map(|(place, event)| match &event.action {
            Action::Packet(packet) if packet.direction == Direction::Out => {
                Some((place, packet.clone()))
            }
            _ => None,
        })
        .collect()
}

/// Alters every expected packet of the repository's scripts in turn. Returns the number of
/// alterations, and those that were not caught.
fn missed_alterations(options: &RunOptions) -> (u32, Vec<String>) {
    let echo = options.echo == EchoRule::Compared;
    let mut tried = 0;
    let mut missed = Vec::new();
    for script in parsed() {
        let ticks = script.options.iter().any(|option| option.name == "tcp_ts_tick_usecs");
        // Where a script begins to count is its own business.
        let mut counts = false;
        for (place, packet) in expected_packets(&script) {
            let altered = alterations(&packet, Stamps { value: ticks && counts, echo });
            counts |= has_timestamps(&packet);
            for altered in altered {
                let mut mutant = script.clone();
                mutant.events[place].action = Action::Packet(altered.clone());
                tried += 1;
                if !matches!(run(&mutant, options), Outcome::Failed(_)) {
                    missed.push(format!("{}: {packet} as {altered}", script.name));
                }
            }
        }
    }
    (tried, missed)
}

#[test]
fn strict_comparison_catches_every_alteration() {
    let (tried, missed) = missed_alterations(&options());
    assert!(tried > 3000, "{tried} alterations");
    assert!(missed.is_empty(), "{} of {tried} missed:\n{}", missed.len(), missed.join("\n"));
}

/// Without strictness, whatever the tool compares: all but echoed timestamps.
#[test]
fn default_comparison_catches_compared_alterations() {
    let (tried, missed) = missed_alterations(&RunOptions::new(Profile::Linux6_18));
    assert!(tried > 3000, "{tried} alterations");
    assert!(missed.is_empty(), "{} of {tried} missed:\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn every_alteration_of_a_time_is_caught() {
    let mut tried = 0;
    let mut missed = Vec::new();
    for script in parsed() {
        for (place, packet) in expected_packets(&script) {
            for altered in altered_times(script.events[place].time) {
                let mut mutant = script.clone();
                mutant.events[place].time = altered;
                tried += 1;
                if !matches!(run(&mutant, &options()), Outcome::Failed(_)) {
                    missed.push(format!("{}: {altered} {packet}", script.name));
                }
            }
        }
    }
    assert!(tried > 100, "{tried} alterations");
    assert!(missed.is_empty(), "{} of {tried} missed:\n{}", missed.len(), missed.join("\n"));
}

/// An omitted expected packet leaves an unexpected one. (A packet by a timer may be omitted
/// together with the wait for it: then it is never sent.)
#[test]
fn every_immediate_packet_left_out_is_caught() {
    let mut missed = Vec::new();
    for script in parsed() {
        for (place, packet) in expected_packets(&script) {
            if script.events[place].time != EventTime::Relative(Span::ZERO) {
                continue;
            }
            let mut mutant = script.clone();
            mutant.events.remove(place);
            if !matches!(run(&mutant, &options()), Outcome::Failed(_)) {
                missed.push(format!("{}: {packet}", script.name));
            }
        }
    }
    assert!(missed.is_empty(), "missed:\n{}", missed.join("\n"));
}
