//! A congestion control that needs ECN (RFC 8257): negotiation, ECT packets, and requested acknowledgments.

use crate::pair::{End, Fate, Line, Pair};
use fairwind_tcp::{
    Config, CongestionAlgorithm, CongestionControl, ControlFactory, EcnFeedback, Hooks,
    PluggedAlgorithm, Profile, RequestedAck, TcpSock, WindowEvent,
};
use fairwind_units::Instant;
use fairwind_wire::{Ecn, Flags};
use std::sync::Arc;

const ASKS: Flags = Flags::from_bits(Flags::ECE.bits() | Flags::CWR.bits());
/// Bit of `ecn_flags` in Linux that echoes a mark.
const ECHOES: u8 = 4;
/// Its bit of `icsk_ack.pending` for one that does not wait.
const AT_ONCE: u8 = 16;

/// Echoes the mark of the latest packet, and acknowledges earlier data if its mark was different.
#[derive(Debug, Default)]
struct Follower {
    expected: u32,
    was_marked: bool,
    asked: Option<RequestedAck>,
}

impl CongestionControl for Follower {
    fn hooks(&self) -> Hooks {
        Hooks::NEEDS_ECN.and(Hooks::CWND_EVENT).and(Hooks::SSTHRESH)
    }

    fn init(&mut self, sender: &mut TcpSock) {
        self.expected = sender.expected;
    }

    fn ssthresh(&mut self, sender: &mut TcpSock) -> u32 {
        sender.window
    }

    fn cwnd_event(&mut self, sender: &mut TcpSock, event: WindowEvent) {
        let is_marked = match event {
            WindowEvent::MarkedData => true,
            WindowEvent::UnmarkedData => false,
            _ => return,
        };
        if is_marked != self.was_marked {
            let echoes = self.was_marked;
            self.asked = Some(RequestedAck { number: self.expected, echoes });
            sender.control.pending |= AT_ONCE;
        }
        sender.ecn_flags =
            if is_marked { sender.ecn_flags | ECHOES } else { sender.ecn_flags & !ECHOES };
        (self.expected, self.was_marked) = (sender.expected, is_marked);
    }

    fn take_requested_ack(&mut self) -> Option<RequestedAck> {
        self.asked.take()
    }
}

#[derive(Debug)]
struct Followers;

impl ControlFactory for Followers {
    fn name(&self) -> &'static str {
        "follower"
    }

    fn create(&self) -> Box<dyn CongestionControl> {
        Box::new(Follower::default())
    }
}

fn follower() -> Config {
    let congestion = CongestionAlgorithm::Plugged(PluggedAlgorithm(Arc::new(Followers)));
    Config { congestion, ..Profile::Linux6_18.config() }
}

fn established(client: Config, server: Config) -> Pair {
    let mut pair = Pair::new(client, server);
    pair.run_until(Instant::from_millis(500));
    pair
}

fn mark(line: &Line) -> Ecn {
    line.segment.traffic_class.ecn()
}

/// The configuration requests no ECN, and the server's accepts none.
#[test]
fn ecn_control_negotiates_and_sends_ect() {
    let mut server = follower();
    server.ecn.incoming = EcnFeedback::None;
    let mut pair = established(follower(), server);
    assert_eq!(pair.dialogue[0].segment.flags, Flags::SYN | ASKS);
    assert_eq!(pair.dialogue[1].segment.flags, Flags::SYN | Flags::ACK | Flags::ECE);
    pair.judged_by(|from, number, _| match (from, number) {
        (End::Client, 2) => Fate::Drop,
        _ => Fate::Deliver,
    });
    pair.write(End::Client, 20_000);
    pair.run_until(Instant::from_secs(2));
    assert_eq!(pair.read_bytes(End::Server), 20_000);
    let sent_again = pair.data_from(End::Client).len() > 14;
    assert!(sent_again, "20000 bytes are 14 segments");
    assert!(pair.dialogue.iter().all(|line| mark(line) == Ecn::Ect0));
}

/// Linux of old refuses a SYN that is capable itself, and so does ours.
#[test]
fn refusing_peer_gets_not_ect() {
    let mut pair = established(follower(), Profile::Linux6_18.config());
    pair.write(End::Client, 5_000);
    pair.run_until(Instant::from_secs(2));
    assert!(pair.dialogue.iter().skip(1).all(|line| mark(line) == Ecn::NotEct));
}

/// The third of four segments is marked: earlier data is acknowledged without an echo, then that segment with
/// one. Before the fourth its echo is requested again, and the fourth has none.
#[test]
fn requested_ack_precedes_data() {
    let mut pair = established(follower(), follower());
    // Past the quick ACKs.
    for _ in 0..20 {
        pair.write(End::Client, 2 * 1448);
        pair.run_until(pair.now + fairwind_units::Span::from_millis(200));
    }
    pair.dialogue.clear();
    pair.write(End::Client, 4 * 1448);
    let mut arrived = 0;
    let segments = pair.data_from(End::Client);
    assert_eq!(segments.len(), 4);
    let now = pair.now + pair.one_way;
    let mut answers = Vec::new();
    for Line { segment, .. } in segments {
        arrived += 1;
        let mark = if arrived == 3 { Ecn::Ce } else { Ecn::Ect0 };
        let traffic_class = segment.traffic_class.with_ecn(mark);
        pair.server.on_segment(now, &fairwind_wire::Segment { traffic_class, ..segment });
        while let Some(answer) = pair.server.poll_segment(now) {
            let reaches = answer.acknowledgment.distance_from(segments_start(&pair)) / 1448;
            answers.push((arrived, reaches, answer.flags.contains(Flags::ECE)));
        }
    }
    assert_eq!(
        answers,
        [(2, 2, false), (3, 2, false), (3, 3, true), (4, 3, true), (4, 4, false)],
        "segment at hand, segments acknowledged, echo"
    );
}

/// Where the segments of the pair's dialogue begin.
fn segments_start(pair: &Pair) -> fairwind_wire::SequenceNumber {
    pair.dialogue[0].segment.sequence
}
