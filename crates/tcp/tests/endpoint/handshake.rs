//! Opening of a connection.

use crate::pair::{End, Fate, Pair};
use crate::peer::Endpoint;
use fairwind_tcp::{Config, Event, Profile, State};
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, Segment, SequenceNumber};

#[test]
fn three_way_handshake_negotiates_options() {
    let config = Profile::Linux6_18.config();
    let mut pair = Pair::new(config.clone(), config);
    pair.run_until(Instant::from_millis(500));
    let flags: Vec<Flags> = pair.dialogue.iter().map(|line| line.segment.flags).collect();
    assert_eq!(flags, [Flags::SYN, Flags::SYN | Flags::ACK, Flags::ACK]);
    let syn = pair.dialogue[0].segment;
    assert_eq!((syn.options.mss, syn.options.sack_permitted), (Some(1460), true));
    assert_eq!(syn.options.window_scale, Some(12));
    assert_eq!(syn.window, 64_240, "whole segments, and the window of a SYN is not scaled");
    assert_eq!(pair.client.segment_bytes(), 1448, "12 bytes of timestamps in every segment");
    assert_eq!(pair.client.smoothed_rtt(), Some(Span::from_millis(100)));
    assert_eq!(pair.count(Event::Established), 2);
}

/// The client is open after 100 ms, the server after 150 (Linux `tcp_finish_connect`, `tcp_rcv_state_process`).
#[test]
fn idle_time_counts_from_the_handshake_on() {
    let config = Profile::Linux6_18.config();
    let mut pair = Pair::new(config.clone(), config);
    pair.run_until(Instant::from_secs(1));
    for (end, idle) in [(End::Client, 900), (End::Server, 850)] {
        let told = pair.end(end).tcp_info(Instant::from_secs(1));
        assert_eq!(told.since_data_sent, Some(Span::from_millis(idle)), "{end:?}");
    }
}

fn instants_of_lost_syns(config: Config) -> Vec<u64> {
    let mut pair = Pair::new(config.clone(), config);
    pair.judged_by(|_, _, _| Fate::Drop);
    pair.run_to_rest(Instant::from_secs(1000));
    assert_eq!(pair.client.state(), State::Closed);
    assert_eq!(pair.count(Event::TimedOut), 1);
    pair.dialogue.iter().map(|line| line.at.as_nanos() / 1_000_000_000).collect()
}

#[test]
fn lost_syn_is_retransmitted_with_backoff() {
    let mut config = Profile::Linux3_16.config();
    assert_eq!(instants_of_lost_syns(config.clone()), [0, 1, 3, 7, 15, 31, 63]);
    config.syn_retries = 2;
    assert_eq!(instants_of_lost_syns(config), [0, 1, 3]);
}

#[test]
fn linux_6_18_has_four_linear_syns() {
    let instants = instants_of_lost_syns(Profile::Linux6_18.config());
    // The fifth time-out doubles first; the last retransmission is sent after 67 s.
    assert_eq!(instants, [0, 1, 2, 3, 4, 5, 7, 11, 19, 35, 67]);
}

#[test]
fn a_lost_syn_ack_is_repeated() {
    let config = Profile::Linux3_16.config();
    let mut pair = Pair::new(config.clone(), config);
    pair.judged_by(|from, number, _| match (from, number) {
        (End::Server, 0) => Fate::Drop,
        _ => Fate::Deliver,
    });
    pair.run_until(Instant::from_secs(3));
    assert_eq!(pair.client.state(), State::Established);
    assert_eq!(pair.server.state(), State::Established);
}

/// The retries without back-off are SYN's alone: a SYN-ACK has its own number of them and no more.
#[test]
fn lost_syn_ack_is_retransmitted_with_backoff() {
    let config = Profile::Linux6_18.config();
    let mut pair = Pair::new(config.clone(), config);
    pair.judged_by(|from, number, _| match (from, number) {
        (End::Client, 0) => Fate::Deliver,
        _ => Fate::Drop,
    });
    pair.run_to_rest(Instant::from_secs(1000));
    let instants: Vec<u64> = pair
        .dialogue
        .iter()
        .filter(|line| line.from == End::Server)
        .map(|line| line.at.as_nanos() / 1_000_000_000)
        .collect();
    assert_eq!(instants, [0, 1, 3, 7, 15, 31]);
    assert_eq!(pair.server.state(), State::Closed);
}

#[test]
fn two_lost_syns_reduce_initial_window() {
    let config = Profile::Linux3_16.config();
    for (lost, window) in [(0, 10), (1, 10), (2, 1)] {
        let mut pair = Pair::new(config.clone(), config.clone());
        pair.judged_by(move |from, number, _| match from {
            End::Client if number < lost => Fate::Drop,
            _ => Fate::Deliver,
        });
        pair.run_until(Instant::from_secs(10));
        assert_eq!(pair.client.congestion_window(), window, "{lost} SYNs lost");
    }
}

/// Both ends send SYN before either has seen the other's (RFC 9293 §3.5, figure 7).
#[test]
fn a_simultaneous_opening_gives_one_connection() {
    use fairwind_tcp::{Connection, Ports};
    use std::sync::Arc;
    let config = Arc::new(Profile::Rfc.config());
    let now = Instant::ZERO;
    let open = |local, remote, isn| {
        Connection::connect(config.clone(), Ports { local, remote }, SequenceNumber::new(isn))
    };
    let (mut a, mut b) = (open(1, 2, 100), open(2, 1, 300));
    let (syn_a, syn_b) = (a.poll_segment(now).unwrap(), b.poll_segment(now).unwrap());
    a.on_segment(now, &syn_b);
    b.on_segment(now, &syn_a);
    assert_eq!((a.state(), b.state()), (State::SynReceived, State::SynReceived));
    let (answer_a, answer_b) = (a.poll_segment(now).unwrap(), b.poll_segment(now).unwrap());
    assert_eq!(answer_a.flags, Flags::SYN | Flags::ACK);
    a.on_segment(now, &answer_b);
    b.on_segment(now, &answer_a);
    assert_eq!((a.state(), b.state()), (State::Established, State::Established));
}

/// The window of the SYN-ACK that crosses ours is 65535 bytes, not 65535 times 2^11.
#[test]
fn crossing_syn_ack_window_is_unscaled() {
    use fairwind_tcp::{Connection, Ports};
    use std::sync::Arc;
    let config = Arc::new(Config { initial_window: 200, ..Profile::Rfc.config() });
    let now = Instant::ZERO;
    let open = |local, remote, isn| {
        Connection::connect(config.clone(), Ports { local, remote }, SequenceNumber::new(isn))
    };
    let (mut a, mut b) = (open(1, 2, 100), open(2, 1, 300));
    a.write(1_000_000);
    let (syn_a, syn_b) = (a.poll_segment(now).unwrap(), b.poll_segment(now).unwrap());
    a.on_segment(now, &syn_b);
    b.on_segment(now, &syn_a);
    let answer_b = b.poll_segment(now).unwrap();
    a.poll_segment(now).unwrap();
    a.on_segment(now, &answer_b);
    let sent: u32 = std::iter::from_fn(|| a.poll_segment(now)).map(|s| s.payload_bytes).sum();
    assert!(sent > 60_000 && sent <= 65_535, "{sent} bytes");
}

#[test]
fn a_closed_port_answers_with_a_reset() {
    let config = Profile::Rfc.config();
    let mut pair = Pair::new(config.clone(), config);
    pair.server.close();
    pair.run_until(Instant::from_secs(1));
    assert_eq!(pair.client.state(), State::Closed);
    assert_eq!(pair.count(Event::Reset), 1);
}

#[test]
fn peer_without_options_gets_none() {
    let plain =
        Config { sack: false, timestamps: false, window_scaling: false, ..Profile::Rfc.config() };
    let mut pair = Pair::established(Profile::Rfc.config(), plain);
    pair.write(End::Client, 1460);
    pair.run_until(Instant::from_secs(2));
    let data = pair.data_from(End::Client)[0].segment;
    assert_eq!(data.payload_bytes, 1460);
    assert_eq!(data.options, fairwind_wire::Options::NONE);
}

#[test]
fn blind_reset_is_challenged() {
    let config = Profile::Rfc.config();
    let mut pair = Pair::established(config.clone(), config);
    let blind = Segment {
        source_port: 40_000,
        destination_port: 80,
        sequence: SequenceNumber::new(1001 + 10),
        flags: Flags::RST,
        ..Segment::default()
    };
    let now = pair.now;
    pair.server.on_segment(now, &blind);
    assert_eq!(pair.server.state(), State::Established);
    let challenge = pair.server.poll_segment(now).expect("a challenge ACK");
    assert_eq!(challenge.acknowledgment, SequenceNumber::new(1001));
    pair.server.on_segment(now, &Segment { sequence: SequenceNumber::new(1001), ..blind });
    assert_eq!(pair.server.state(), State::Closed);
}

/// RFC 9293 §3.7.1.
#[test]
fn default_mss_is_536_or_1220() {
    for (header, expected) in [(20, 536), (40, 1220)] {
        let mut config = Config { timestamps: false, ..Profile::Rfc.config() };
        config.path.ip_header_bytes = header;
        let mut end = Endpoint::accepted_with(config, fairwind_wire::Options::NONE);
        assert_eq!(end.write(3000)[0].payload_bytes, expected);
    }
}
