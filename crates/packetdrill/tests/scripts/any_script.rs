//! Robustness: no script makes the runner or the endpoint panic or loop forever.

use super::options;
use super::repository::{parsed, scripts};
use fairwind_packetdrill::{
    Action, Direction, EventTime, Packet, RunOptions, Script, TcpOption, TrailingPackets, run,
    run_script,
};
use fairwind_units::Span;
use fairwind_wire::Flags;
use proptest::prelude::*;
use proptest::sample::Index;

/// Numbers near interesting ones, and any.
fn near(number: u32) -> impl Strategy<Value = u32> {
    prop_oneof![
        (0_u32..5000).prop_map(move |more| number.wrapping_add(more)),
        (0_u32..5000).prop_map(move |less| number.wrapping_sub(less)),
        any::<u32>(),
    ]
}

fn option() -> impl Strategy<Value = TcpOption> {
    prop_oneof![
        any::<u16>().prop_map(TcpOption::MaximumSegment),
        any::<u8>().prop_map(TcpOption::WindowScale),
        Just(TcpOption::SackPermitted),
        Just(TcpOption::End),
        proptest::collection::vec((near(3000), near(4000)), 1..4).prop_map(TcpOption::Sack),
        (any::<u32>(), near(100)).prop_map(|(value, echo)| TcpOption::Timestamps { value, echo }),
    ]
}

fn injected() -> impl Strategy<Value = Packet> {
    (
        0_u16..0x200,
        near(1),
        prop_oneof![Just(0), 0_u32..5000, 0_u32..1 << 20],
        proptest::option::of(near(2000)),
        any::<u16>(),
        proptest::collection::vec(option(), 0..4),
    )
        .prop_map(|(flags, sequence, payload_bytes, acknowledgment, window, options)| Packet {
            direction: Direction::In,
            mark: None,
            traffic_class: None,
            flags: Flags::from_bits(flags),
            sequence,
            payload_bytes,
            acknowledgment,
            window: Some(window),
            urgent: None,
            options: Some(options),
        })
}

/// A script without its expectations, so that it runs to the end.
fn only_actions(mut script: Script) -> Script {
    script.events.retain(|event| match &event.action {
        Action::Packet(packet) => packet.direction == Direction::In,
        Action::Call(call) => matches!(call.function.as_str(), "socket" | "listen" | "connect"),
        _ => false,
    });
    script
}

proptest! {
    #[test]
    fn scripts_with_any_injected_packets_end(
        place in any::<Index>(),
        packets in proptest::collection::vec((any::<Index>(), injected(), 0_u64..3000), 1..12),
    ) {
        let scripts = parsed();
        let mut script = only_actions(scripts[place.index(scripts.len())].clone());
        for (at, packet, after_ms) in packets {
            let at = at.index(script.events.len());
            let mut event = script.events[at].clone();
            event.time = EventTime::Relative(Span::from_millis(after_ms));
            event.action = Action::Packet(packet);
            script.events.insert(at + 1, event);
        }
        let options = RunOptions { trailing: TrailingPackets::Ignored, ..options() };
        let _ = run(&script, &options);
    }

    #[test]
    fn scripts_with_some_characters_changed_end(
        place in any::<Index>(),
        changes in proptest::collection::vec((any::<Index>(), "[ -~]"), 1..6),
    ) {
        let scripts = scripts();
        let (name, text) = &scripts[place.index(scripts.len())];
        let mut characters: Vec<char> = text.chars().collect();
        for (at, character) in changes {
            let at = at.index(characters.len());
            characters[at] = character.chars().next().unwrap();
        }
        let _ = run_script(name, &characters.iter().collect::<String>(), &options());
    }
}
