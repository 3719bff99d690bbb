//! Flow control, small segments, delayed acknowledgments.

use crate::pair::{End, Fate, Pair};
use fairwind_tcp::{
    AckDelay, BufferAccounting, Config, Event, IdleRestart, Nagle, Profile, Receiving, State,
};
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, Segment, SequenceNumber};

/// A receiver with a buffer of `bytes` bytes of payload.
fn receiver(bytes: u32, like: &Config) -> Config {
    let receiving = Receiving { accounting: BufferAccounting::Payload, ..like.receiving.clone() };
    Config { receive_buffer: bytes, receiving, ..like.clone() }
}

/// An open connection to a receiver with a buffer of `bytes` bytes.
fn with_receive_buffer(bytes: u32) -> Pair {
    let client = Profile::Linux6_18.config();
    let server = receiver(bytes, &client);
    Pair::established(client, server)
}

#[test]
fn probed_window_resumes_transfer() {
    let mut pair = with_receive_buffer(8_000);
    pair.reads = false;
    pair.write(End::Client, 20_000);
    pair.run_until(Instant::from_secs(10));
    assert_eq!(pair.server.readable_bytes(), 8_000, "all that the window allowed, not a byte more");
    let probes = pair.count(Event::ZeroWindowProbe);
    assert!((3..=8).contains(&probes), "{probes} probes, backed off");
    pair.reads = true;
    pair.read_all(End::Server);
    pair.run_until(Instant::from_secs(60));
    assert_eq!(pair.read_bytes(End::Server), 20_000);
}

/// The announcement of the opened window is lost: without probes this would hang for ever.
#[test]
fn lost_window_update_does_not_stall() {
    let mut pair = with_receive_buffer(4_000);
    pair.reads = false;
    pair.write(End::Client, 10_000);
    pair.run_until(Instant::from_secs(3));
    pair.judged_by(|from, number, _| match (from, number) {
        (End::Server, 0) => Fate::Drop,
        _ => Fate::Deliver,
    });
    pair.reads = true;
    pair.read_all(End::Server);
    pair.run_until(Instant::from_secs(30));
    assert_eq!(pair.read_bytes(End::Server), 10_000);
}

#[test]
fn window_below_mss_is_used() {
    let mut pair = with_receive_buffer(700);
    pair.write(End::Client, 7_000);
    pair.run_until(Instant::from_secs(60));
    assert_eq!(pair.read_bytes(End::Server), 7_000);
}

fn small_segments(nagle: Nagle) -> usize {
    let config = Config { nagle, ..Profile::Linux6_18.config() };
    let mut pair = Pair::established(config.clone(), config);
    for _ in 0..10 {
        pair.write(End::Client, 100);
        let later = pair.now + Span::from_millis(5);
        pair.run_until(later);
    }
    pair.run_until(Instant::from_secs(3));
    assert_eq!(pair.read_bytes(End::Server), 1_000);
    pair.data_from(End::Client).len()
}

#[test]
fn nagle_lets_one_small_segment_be_outstanding() {
    assert_eq!(small_segments(Nagle::Off), 10);
    assert_eq!(small_segments(Nagle::Classic), 2);
    assert_eq!(small_segments(Nagle::Minshall), 2);
}

/// A full segment is outstanding: Classic makes the small tail wait, Minshall does not.
#[test]
fn minshall_sends_tail_after_full_segments() {
    for (nagle, expected) in [(Nagle::Classic, 1), (Nagle::Minshall, 2)] {
        let config = Config { nagle, ..Profile::Linux6_18.config() };
        let mut pair = Pair::established(config.clone(), config);
        pair.write(End::Client, 1448 + 100);
        assert_eq!(pair.data_from(End::Client).len(), expected, "{nagle:?}");
    }
}

#[test]
fn lone_segment_is_acknowledged_after_delay() {
    let server = Config {
        ack_delay: AckDelay::EverySecond { limit: Span::from_millis(200) },
        ..Profile::Rfc.config()
    };
    let mut pair = Pair::established(Profile::Rfc.config(), server);
    pair.write(End::Client, 100);
    pair.run_until(Instant::from_secs(2));
    let ack = pair.dialogue.iter().find(|line| line.from == End::Server).unwrap();
    assert_eq!(ack.at, Instant::from_millis(1000 + 50 + 200));
}

#[test]
fn send_buffer_limits_writes() {
    let config = Config { send_buffer: 10_000, ..Profile::Linux6_18.config() };
    let mut pair = Pair::established(config.clone(), config);
    assert_eq!(pair.write(End::Client, 50_000), 10_000);
    assert_eq!(pair.write(End::Client, 1), 0);
    pair.run_until(Instant::from_secs(2));
    assert_eq!(pair.write(End::Client, 50_000), 10_000);
}

/// At most eleven segments per round trip while the initial window of ten grows; an application
/// that never uses its window does not let it grow.
#[test]
fn an_application_limited_window_does_not_grow() {
    let config = Config { nagle: Nagle::Off, ..Profile::Linux6_18.config() };
    let mut pair = Pair::established(config.clone(), config);
    for at in 0..100 {
        pair.write(End::Client, 120);
        pair.run_until(Instant::from_millis(1000 + 150 * at));
    }
    assert_eq!(pair.client.congestion_window(), 10);
}

#[test]
fn slow_start_doubles_window_per_rtt() {
    let config = Profile::Linux6_18.config();
    let mut pair = Pair::established(config.clone(), config);
    pair.write(End::Client, 10_000_000);
    let mut windows = Vec::new();
    for round in 0..5 {
        pair.run_until(Instant::from_millis(1000 + 100 * round + 50));
        windows.push(pair.client.congestion_window());
    }
    assert_eq!(windows, [10, 20, 40, 80, 160]);
}

#[test]
fn idle_connection_restarts_at_initial_window() {
    for profile in [Profile::Rfc, Profile::Linux6_18] {
        let config = profile.config();
        let mut pair = Pair::established(config.clone(), config.clone());
        pair.write(End::Client, 2_000_000);
        pair.run_until(Instant::from_secs(20));
        assert!(pair.client.congestion_window() > 100, "{profile:?}");
        pair.run_until(Instant::from_secs(80));
        pair.write(End::Client, 100);
        assert_eq!(pair.client.congestion_window(), config.initial_window, "{profile:?}");
    }
}

/// Windows of a large buffer are offered in units of 2 KiB; rounding must not offer more than is
/// free while the application does not read.
#[test]
fn unread_data_closes_scaled_window() {
    let client = Profile::Linux6_18.config();
    let server = Config { ack_delay: AckDelay::None, ..receiver(1 << 20, &client) };
    let mut pair = Pair::established(client, server);
    pair.reads = false;
    pair.write(End::Client, 3 << 20);
    pair.run_until(Instant::from_secs(60));
    let unread = pair.server.readable_bytes();
    assert!(unread <= 1 << 20, "{unread} bytes in a buffer of {}", 1 << 20);
    assert!(unread >= (1 << 20) - 4_000, "{unread} bytes only");
    pair.reads = true;
    pair.read_all(End::Server);
    pair.run_until(Instant::from_secs(400));
    assert_eq!(pair.read_bytes(End::Server), 3 << 20);
}

/// A frame of 9000 bytes is no multiple of the window unit: a reopened window must still hold a
/// full segment, or the sender waits for a probe.
#[test]
fn reopened_scaled_window_holds_full_segment() {
    let client = Config { mss: 8_950, ..Profile::Linux6_18.config() };
    let server = receiver(1 << 20, &client);
    let mut pair = Pair::established(client, server);
    pair.reads = false;
    pair.write(End::Client, 2 << 20);
    pair.run_until(Instant::from_secs(5));
    pair.dialogue.clear();
    for _ in 0..200 {
        let now = pair.now;
        pair.server.read(now, 1_000);
        pair.flush();
    }
    let min = pair
        .dialogue
        .iter()
        .filter(|line| line.from == End::Server)
        .map(|line| u32::from(line.segment.window) << 5)
        .filter(|window| *window > 0)
        .min();
    assert!(min >= Some(8_938), "a window of {min:?} bytes was announced");
}

/// The window is filled to its last byte: FIN, which lies beyond it, waits.
#[test]
fn fin_does_not_go_beyond_the_window() {
    let client = Config { nagle: Nagle::Classic, ..Profile::Linux6_18.config() };
    let server = receiver(4_000, &client);
    let mut pair = Pair::established(client, server);
    pair.reads = false;
    // The tail waits by Nagle's rule, so that FIN could ride on it.
    pair.write(End::Client, 4_000);
    pair.close(End::Client);
    pair.run_until(Instant::from_millis(1010));
    let beyond = 1001 + 4_000;
    let highest = pair.dialogue.iter().map(|line| line.segment.end().get()).filter(|e| *e < 5_000);
    assert!(highest.max() <= Some(beyond));
    assert!(pair.data_from(End::Client).iter().all(|l| !l.segment.flags.contains(Flags::FIN)));
    pair.run_until(Instant::from_secs(30));
    // The window is closed and FIN probes it; its acknowledgment must not open it.
    assert_eq!(pair.server.state(), State::CloseWait);
    let last = pair.dialogue.iter().rfind(|line| line.from == End::Server).unwrap().segment;
    assert_eq!(last.window, 0, "nothing was read");
    pair.read_all(End::Server);
    assert_eq!(pair.read_bytes(End::Server), 4_000);
}

/// A peer that does not answer probes is gone (RFC 9293 §3.8.6.1 keeps a connection open only while
/// the peer acknowledges).
#[test]
fn unanswered_probes_end_the_connection() {
    let mut pair = with_receive_buffer(4_000);
    pair.reads = false;
    pair.write(End::Client, 10_000);
    pair.run_until(Instant::from_secs(3));
    pair.judged_by(|_, _, _| Fate::Drop);
    pair.run_to_rest(Instant::from_secs(20_000));
    assert_eq!(pair.client.state(), State::Closed);
    assert_eq!(pair.count(Event::TimedOut), 1);
}

#[test]
fn answered_probes_go_on_for_ever() {
    let mut pair = with_receive_buffer(4_000);
    pair.reads = false;
    pair.write(End::Client, 10_000);
    pair.run_until(Instant::from_secs(50_000));
    assert_eq!(pair.client.state(), State::Established);
    assert!(pair.count(Event::ZeroWindowProbe) > 100);
}

/// While the window is closed nothing is sent, so a look at the queue does not end the idle time:
/// the congestion window falls once, when transmission resumes.
#[test]
fn closed_window_keeps_congestion_window() {
    let client = Config { idle_restart: IdleRestart::Halving, ..Profile::Linux6_18.config() };
    let server = Config { receive_buffer: 600_000, ..client.clone() };
    let mut pair = Pair::established(client, server);
    pair.reads = false;
    pair.write(End::Client, 2_000_000);
    pair.run_until(Instant::from_secs(3));
    let before = pair.client.congestion_window();
    assert!(before > 200, "{before}");
    for at in 0..20 {
        pair.run_until(Instant::from_millis(3_000 + at));
        pair.flush();
    }
    assert_eq!(pair.client.congestion_window(), before);
}

/// Data that travels together with SACK blocks leaves room for them (RFC 6691): no segment is
/// larger than the peer's MSS allows.
#[test]
fn data_leaves_room_for_sack_blocks() {
    for timestamps in [true, false] {
        let config = Config { timestamps, ..Profile::Linux6_18.config() };
        let mut pair = Pair::established(config.clone(), config);
        pair.judged_by(|_, number, segment| {
            if segment.payload_bytes > 0 && number % 7 == 3 { Fate::Drop } else { Fate::Deliver }
        });
        pair.write(End::Client, 300_000);
        pair.write(End::Server, 300_000);
        pair.run_until(Instant::from_secs(100));
        assert_eq!(pair.read_bytes(End::Server), 300_000);
        assert_eq!(pair.read_bytes(End::Client), 300_000);
        let with_blocks =
            pair.dialogue.iter().filter(|line| !line.segment.options.sack.is_empty()).count();
        assert!(with_blocks > 100, "{with_blocks}");
        for line in &pair.dialogue {
            let blocks = line.segment.options.sack.as_slice().len();
            let options =
                if timestamps { 12 } else { 0 } + if blocks > 0 { 4 + 8 * blocks } else { 0 };
            let bytes = line.segment.payload_bytes as usize + options;
            assert!(bytes <= 1460, "{bytes} bytes of payload and options");
        }
    }
}

/// 2^31 bytes after the last small segment its number seems to be in the future; a small tail must
/// not wait for it.
#[test]
fn old_small_segment_does_not_hold_tail() {
    let config = Config { nagle: Nagle::Minshall, ..Profile::Linux6_18.config() };
    let mut ends = Pair::established(config.clone(), config);
    let mut now = ends.now;
    let ack = Segment {
        sequence: SequenceNumber::new(5001),
        flags: Flags::ACK,
        window: u16::MAX,
        ..Segment::default()
    };
    let mut acknowledge = |client: &mut fairwind_tcp::Connection, upto| {
        now += Span::from_millis(1);
        client.on_segment(now, &Segment { acknowledgment: upto, ..ack });
        now
    };
    let mut sent = 0_u64;
    let mut end = SequenceNumber::new(1001);
    while sent < (1 << 31) + 10_000_000 {
        ends.client.write(64 * 1448);
        let at = acknowledge(&mut ends.client, end);
        while let Some(segment) = ends.client.poll_segment(at) {
            end = segment.end();
            sent += u64::from(segment.payload_bytes);
        }
    }
    while ends.client.unsent_bytes() > 0 {
        let at = acknowledge(&mut ends.client, end);
        while let Some(segment) = ends.client.poll_segment(at) {
            end = segment.end();
        }
    }
    let at = acknowledge(&mut ends.client, end);
    ends.client.write(1448 + 100);
    let tail: Vec<u32> = std::iter::from_fn(|| ends.client.poll_segment(at))
        .map(|segment| segment.payload_bytes)
        .collect();
    assert_eq!(tail, [1448, 100]);
}

/// Delay of the ACKs of `count` small segments, 60 ms apart, in milliseconds; the server replies to
/// those that `answers` selects.
fn ack_delays(count: usize, reads: bool, answers: fn(usize) -> bool) -> Vec<u64> {
    let config = Config { nagle: Nagle::Off, ..Profile::Linux6_18.config() };
    let mut pair = Pair::established(config.clone(), config);
    pair.reads = reads;
    let mut delays = Vec::new();
    for number in 0..count {
        let arrival = pair.now + Span::from_millis(50);
        pair.write(End::Client, 120);
        pair.run_until(arrival);
        if answers(number) {
            pair.write(End::Server, 100);
        }
        pair.run_until(arrival + Span::from_millis(150));
        let ack = pair.dialogue.iter().find(|line| line.from == End::Server && line.at >= arrival);
        delays.push((ack.unwrap().at - arrival).as_millis());
    }
    delays
}

/// Linux assumes that a reader with an empty buffer will not reply.
#[test]
fn reader_acknowledges_small_segments_immediately() {
    assert_eq!(ack_delays(40, true, |_| false), [0; 40]);
    let unread = ack_delays(40, false, |_| false);
    assert!(unread[..16].iter().all(|delay| *delay == 0), "quick at first: {unread:?}");
    assert!(unread[16..].iter().all(|delay| *delay >= 40), "{unread:?}");
}

#[test]
fn interactive_connection_delays_acks() {
    let delays = ack_delays(40, true, |number| number < 30 || number % 2 == 0);
    for (number, delay) in delays.iter().enumerate() {
        let expected = if number >= 30 && number % 2 == 1 { 40 } else { 0 };
        assert_eq!(*delay, expected, "segment {number}: {delays:?}");
    }
}

/// A client with a peer's window of `window` bytes (shift 0), announced at `at`.
fn announce_window(pair: &mut Pair, at: Instant, window: u16) {
    pair.run_until(at);
    let told = Segment {
        sequence: SequenceNumber::new(5001),
        acknowledgment: SequenceNumber::new(1001),
        flags: Flags::ACK,
        window,
        ..Segment::default()
    };
    pair.client.on_segment(at, &told);
    pair.flush();
}

/// However long the window was closed: a small window is used after one time-out. (Linux waits for
/// the next probe, and every answer delays that.)
#[test]
fn probe_uses_small_window() {
    let client = Config { timestamps: false, ..Profile::Rfc.config() };
    let server = receiver(4_000, &client);
    let mut pair = Pair::established(client, server);
    pair.judged_by(|_, _, _| Fate::Drop);
    announce_window(&mut pair, Instant::from_millis(1_100), 0);
    pair.write(End::Client, 10_000);
    for second in 2..200 {
        announce_window(&mut pair, Instant::from_secs(second), 0);
    }
    announce_window(&mut pair, Instant::from_secs(200), 300);
    pair.run_until(Instant::from_millis(201_001));
    let sizes: Vec<u32> =
        pair.data_from(End::Client).iter().map(|line| line.segment.payload_bytes).collect();
    assert_eq!(sizes.first(), Some(&300));
}

/// A peer that shrinks its window and answers each retransmission is alive (RFC 9293 §3.8.6.1).
#[test]
fn shrunken_closed_window_is_not_given_up() {
    let client = Config { timestamps: false, ..Profile::Linux6_18.config() };
    let server = receiver(4_000, &client);
    let mut pair = Pair::established(client, server);
    pair.judged_by(|_, _, _| Fate::Drop);
    pair.write(End::Client, 10_000);
    for second in 2..3_000 {
        announce_window(&mut pair, Instant::from_secs(second), 0);
    }
    assert_eq!(pair.client.state(), State::Established);
    pair.run_to_rest(Instant::from_secs(10_000));
    assert_eq!(pair.client.state(), State::Closed, "but silence ends it");
}
