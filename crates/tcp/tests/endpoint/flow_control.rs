//! Flow control: windows of the peer, small segments, keep-alive (RFC 9293 §3.7.4, §3.8.4, §3.8.6), in the
//! profile `rfc`.

use crate::peer::{Endpoint, FULL, OFFER, ack, data, ranges, segment};
use fairwind_tcp::{Config, Event, Profile};
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, Options, Segment};

/// An initial window of ten segments, so that there is something to lose.
fn rfc() -> Config {
    Config { timestamps: false, initial_window: 10, ..Profile::Rfc.config() }
}

fn open() -> Endpoint {
    Endpoint::accepted(rfc())
}

/// First byte of the `index`-th segment.
fn at(index: u32) -> u32 {
    1 + index * FULL
}

#[test]
fn closed_window_is_probed_with_backoff() {
    let mut end = open();
    end.hear(&data(1, 100));
    end.wait_millis(300);
    end.hear(&Segment { window: 0, ..segment(Flags::ACK, 101, 1) });
    let timeout = end.it.retransmission_timeout();
    let begun = end.now;
    assert!(end.write(1000).iter().all(|s| s.payload_bytes == 0));
    let probes: Vec<Instant> = end.wait(Span::from_secs(100)).iter().map(|(at, _)| *at).collect();
    let gaps: Vec<Span> = probes.windows(2).map(|two| two[1] - two[0]).collect();
    assert_eq!(probes[0] - begun, timeout);
    assert!(gaps.len() >= 4 && gaps.windows(2).all(|two| two[1] >= two[0]), "{gaps:?}");
    assert!(gaps[3] >= timeout * 8, "{gaps:?}");
}

/// The peer shrinks its window: data beyond it is not sent, and retransmitted only once it is
/// inside again.
#[test]
fn shrunken_window_is_tolerated() {
    let mut end = open();
    end.hear(&data(1, 100));
    end.write(5000);
    end.hear(&Segment { window: 1500, ..segment(Flags::ACK, 101, at(1)) });
    assert!(end.it.write(5000) == 5000 && end.sent().iter().all(|s| s.payload_bytes == 0));
    assert!(end.wait_millis(990).is_empty());
    let repeated = end.wait_millis(110);
    let starts: Vec<u32> = repeated.iter().map(|(_, s)| s.sequence.get()).collect();
    assert_eq!(starts, [at(1)], "the oldest is repeated");
    end.hear(&Segment { window: 60_000, ..segment(Flags::ACK, 101, at(5)) });
    assert_eq!(end.it.state(), fairwind_tcp::State::Established);
    assert!(end.it.flight() > 0);
}

/// Neither a small part of a window nor slightly less than a segment is sent, while more may be
/// possible (RFC 9293 §3.8.6.2.1).
#[test]
fn sender_avoids_silly_window() {
    let mut end = open();
    end.hear(&data(1, 100));
    end.hear(&Segment { window: 3300, ..segment(Flags::ACK, 101, 1) });
    let sent = end.write(50_000);
    assert_eq!(
        ranges(&sent),
        [(at(0), FULL), (at(1), FULL), (at(2), FULL)],
        "not the last 300 bytes"
    );
    let later = end.hear(&Segment { window: 600, ..segment(Flags::ACK, 101, at(3)) });
    assert!(later.iter().all(|s| s.payload_bytes == 0), "{later:?}");
    let forced = end.wait_millis(1200);
    assert_eq!(forced[0].1.payload_bytes, 600, "after a while it is");
}

/// Room is announced if it is a segment or half the buffer (RFC 9293 §3.8.6.2.2).
#[test]
fn the_receiver_does_not_announce_little_room() {
    let config = Config { receive_buffer: 10_000, mss: 1000, ..rfc() };
    let mut end = Endpoint::accepted(config);
    for index in 0..10 {
        end.hear(&data(at(index), FULL));
    }
    let window = |segments: &[Segment]| segments.last().map(|s| s.window);
    let mut announced = vec![];
    for _ in 0..5 {
        end.it.read(end.now, 300);
        announced.extend(window(&end.sent()));
    }
    assert_eq!(announced, [1200], "after 1200 bytes, a full segment");
}

#[test]
fn nagle_holds_small_segments() {
    let mut end = open();
    assert_eq!(end.write(100).len(), 1);
    assert!(end.write(100).is_empty());
    assert_eq!(ranges(&end.hear(&ack(101))), [(101, 100)]);
    let mut end = Endpoint::accepted(Config { nagle: fairwind_tcp::Nagle::Off, ..rfc() });
    assert_eq!((end.write(100).len(), end.write(100).len()), (1, 1));
}

#[test]
fn last_segment_of_write_has_psh() {
    let mut end = open();
    let flags: Vec<bool> = end.write(2500).iter().map(|s| s.flags.contains(Flags::PSH)).collect();
    assert_eq!(flags[..2], [false, false]);
    let rest = end.hear(&ack(at(2)));
    assert!(rest.iter().chain(&[]).all(|s| s.flags.contains(Flags::PSH)), "{rest:?}");
}

/// RFC 9293 §3.8.4: off by default, not before two hours, and no single probe decides.
#[test]
fn keep_alive_probes_after_two_hours() {
    let mut end = open();
    assert!(end.wait(Span::from_secs(86_400)).is_empty());
    let mut config = rfc();
    config.liveness.keep_alive.enabled = true;
    let mut end = Endpoint::accepted(config);
    assert!(end.wait(Span::from_secs(7199)).is_empty());
    let probe = end.wait_millis(2000).pop().unwrap().1;
    assert_eq!((probe.sequence.get(), probe.payload_bytes), (0, 0), "below what was acknowledged");
    assert_eq!(end.wait_millis(75_000).len(), 1, "unanswered: another one");
    assert_eq!(end.it.state(), fairwind_tcp::State::Established);
    end.hear(&ack(1));
    assert!(end.wait(Span::from_secs(7100)).is_empty());
    end.wait(Span::from_secs(2000));
    assert_eq!(end.events().last(), Some(&Event::TimedOut), "nine unanswered ones end it");
}

/// RFC 9293 §3.8.6: the offered window does not shrink.
#[test]
fn right_edge_does_not_recede() {
    let config = Config { receive_buffer: 20_000, ..rfc() };
    let offer = Options { window_scale: Some(0), ..OFFER };
    let mut end = Endpoint::accepted_with(config, offer);
    let (mut edge, mut next) = (0, 1);
    for step in 0_u32..400 {
        let mut answers = vec![];
        if step % 3 != 0 && next + 700 < edge.max(20_001) {
            answers = end.hear(&data(next, 700));
            next += 700;
        } else {
            end.it.read(end.now, step % 7 * 311);
            answers.extend(end.sent());
        }
        answers.extend(end.wait_millis(100).into_iter().map(|(_, segment)| segment));
        for answer in answers {
            let told = answer.acknowledgment.get() + u32::from(answer.window);
            assert!(told >= edge, "{told} after {edge}");
            edge = told;
        }
    }
    assert!(edge > 40_000, "{edge}");
}
