//! What few connections have is followed as long as one has it, and no longer.

use super::Advice;
use crate::config::{AckDelay, Config, CongestionAlgorithm};
use crate::connection::{Connection, Ports};
use crate::sender::congestion::resumption::Resumption;
use crate::{CarefulResumeConfig, Profile, bbr1};
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, Options, Segment, SequenceNumber};
use std::sync::Arc;

const SEGMENT: u64 = 1460;
const FIRST: u32 = 1;

/// A sender with an initial window of ten segments, whose peer is played by hand.
struct Sender {
    end: Connection,
    now: Instant,
}

impl Sender {
    /// Open after a round trip of 100 ms, and taken `advice`.
    fn advised(config: Config, advice: Advice) -> Self {
        let config = Config {
            initial_window: 10,
            initial_window_in_bytes: false,
            timestamps: false,
            ack_delay: AckDelay::None,
            ..config
        };
        let ports = Ports { local: 1, remote: 2 };
        let end = Connection::connect(Arc::new(config), ports, SequenceNumber::new(0));
        let mut sender = Self { end, now: Instant::from_secs(1) };
        sender.end.advise(advice);
        sender.drain();
        let options = Options { mss: Some(1460), sack_permitted: true, ..Options::NONE };
        sender.hears(Flags::SYN | Flags::ACK, FIRST, options);
        sender
    }

    fn usual(advice: Advice) -> Self {
        Self::advised(Profile::Rfc.config(), advice)
    }

    /// A segment of the peer comes 100 ms later.
    fn hears(&mut self, flags: Flags, acknowledged: u32, options: Options) {
        self.now += Span::from_millis(100);
        let sequence = SequenceNumber::new(u32::from(!flags.contains(Flags::SYN)));
        let acknowledgment = SequenceNumber::new(acknowledged);
        let window = 60_000;
        let rest = Segment::default();
        let segment = Segment { sequence, flags, acknowledgment, options, window, ..rest };
        self.end.on_segment(self.now, &segment);
        self.drain();
    }

    /// So many segments are acknowledged.
    fn hears_of(&mut self, segments: u32) {
        let acknowledged = FIRST + segments * u32::try_from(SEGMENT).unwrap();
        self.hears(Flags::ACK, acknowledged, Options::NONE);
    }

    fn writes(&mut self, segments: u64) {
        self.end.write(segments * SEGMENT);
        self.drain();
    }

    fn drain(&mut self) {
        while self.end.poll_segment(self.now).is_some() {}
    }
}

fn careful(jump: u32) -> Advice {
    let retreat = CarefulResumeConfig::USUAL.retreat;
    let resumption = Resumption { jump, saved_rtt: Span::from_millis(100), retreat };
    Advice { resumption: Some(resumption), ..Advice::default() }
}

#[test]
fn the_pace_of_a_first_flight_is_over_with_its_first_acknowledgment() {
    let mut sender = Sender::usual(Advice { least_window: Some(16), ..Advice::default() });
    sender.writes(30);
    assert!(sender.end.sender().paces() && sender.end.sender().has_extras);
    sender.hears_of(1);
    assert!(!sender.end.sender().paces() && !sender.end.sender().has_extras);
}

#[test]
fn a_resumption_that_is_over_is_followed_no_more() {
    let mut sender = Sender::usual(careful(5));
    sender.writes(30);
    assert!(sender.end.sender().has_extras);
    sender.hears_of(10);
    assert!(!sender.end.sender().inherited.is_resuming(), "there is nothing to gain");
    assert!(!sender.end.sender().has_extras);
}

#[test]
fn a_resumption_that_a_time_out_ends_is_followed_no_more() {
    let mut sender = Sender::usual(careful(50));
    sender.writes(1);
    assert!(sender.end.sender().has_extras);
    sender.now = sender.end.next_deadline();
    sender.end.on_deadline(sender.now);
    sender.drain();
    assert!(!sender.end.sender().inherited.is_resuming());
    assert!(!sender.end.sender().has_extras);
}

#[test]
fn what_else_a_connection_has_is_followed_beyond_its_first_flight() {
    let mut config = Profile::Rfc.config();
    config.sending.pacing.enabled = true;
    let advice = Advice { least_window: Some(16), ..Advice::default() };
    let mut sender = Sender::advised(config, advice);
    sender.writes(30);
    sender.hears_of(1);
    assert!(!sender.end.sender().pacer.has_first_flight());
    assert!(sender.end.sender().paces() && sender.end.sender().has_extras);
}

/// Linux `tcp_cleanup_congestion_control` leaves `sk_pacing_status` as it is.
#[test]
fn the_pace_that_a_congestion_control_asked_for_outlasts_it() {
    let config = |congestion| Config { congestion, ..Profile::Rfc.config() };
    let governed = config(CongestionAlgorithm::Plugged(bbr1()));
    for (first, paces) in [(governed, true), (config(CongestionAlgorithm::Bic), false)] {
        let mut sender = Sender::advised(first, Advice::default());
        let next = config(CongestionAlgorithm::Reno);
        sender.end.reconfigure(sender.now, Arc::new(next));
        assert_eq!((sender.end.sender().paces(), sender.end.sender().has_extras), (paces, paces));
    }
}
