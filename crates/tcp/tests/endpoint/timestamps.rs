//! Window scaling and timestamps (RFC 7323).

use crate::pair::{End, Fate, Pair};
use crate::peer::{Endpoint, OFFER, ack, data, segment, stamped};
use fairwind_tcp::{AckDelay, Config, Profile};
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, Options, Segment, Timestamps};

fn rfc() -> Config {
    Profile::Rfc.config()
}

/// An open connection with timestamps; the peer's clock stood at 1000 in its SYN.
fn stamping(config: Config) -> Endpoint {
    let timestamps = Some(Timestamps { value: 1000, echo: 0 });
    Endpoint::accepted_with(config, Options { timestamps, ..OFFER })
}

fn echo(segment: &Segment) -> u32 {
    segment.options.timestamps.unwrap().echo
}

/// Data of the peer at a reading of its clock.
fn data_at(value: u32, sequence: u32, bytes: u32) -> Segment {
    stamped(data(sequence, bytes), value, 0)
}

#[test]
fn window_scaling_needs_both_syns() {
    for (scale, expected) in [(None, 500), (Some(3), 4000)] {
        let config = Config { mss: 9000, ..rfc() };
        let offer = Options { mss: Some(9000), window_scale: scale, ..OFFER };
        let mut end = Endpoint::accepted_with(config, offer);
        end.hear(&data(1, 1));
        end.hear(&Segment { window: 500, ..segment(Flags::ACK, 2, 1) });
        let mut sent = end.write(8000);
        sent.extend(end.wait_millis(2000).into_iter().map(|(_, segment)| segment));
        let first = sent.iter().find(|s| s.payload_bytes > 0).unwrap();
        assert_eq!(first.payload_bytes, expected, "shift {scale:?}");
    }
}

#[test]
fn syn_window_is_unscaled() {
    let (mut end, syn) = Endpoint::connecting(rfc());
    assert_eq!(syn.window, u16::MAX);
    end.it.write(20_000);
    let options = Options { window_scale: Some(7), ..OFFER };
    let answer = segment(Flags::SYN | Flags::ACK, 0, 1);
    let sent = end.hear(&Segment { options, window: 1000, ..answer });
    assert_eq!(sent.iter().map(|s| s.payload_bytes).sum::<u32>(), 1000);
}

#[test]
fn window_scale_option_is_only_in_syn() {
    let mut pair = Pair::new(rfc(), rfc());
    pair.write(End::Client, 20_000);
    pair.run_until(Instant::from_secs(2));
    for line in &pair.dialogue {
        let syn = line.segment.flags.contains(Flags::SYN);
        assert_eq!(line.segment.options.window_scale.is_some(), syn);
    }
}

#[test]
fn negotiated_timestamps_are_on_every_segment() {
    let mut pair = Pair::new(rfc(), rfc());
    pair.judged_by(|_, number, _| if number % 5 == 4 { Fate::Drop } else { Fate::Deliver });
    pair.run_until(Instant::from_millis(200));
    pair.write(End::Client, 60_000);
    pair.close(End::Client);
    pair.run_until(Instant::from_secs(20));
    pair.close(End::Server);
    pair.run_until(Instant::from_secs(40));
    assert!(pair.dialogue.len() > 20, "{:?}", pair.dialogue);
    assert!(pair.dialogue.iter().all(|line| line.segment.options.timestamps.is_some()));
    assert_eq!(
        echo(&pair.dialogue[0].segment),
        0,
        "a SYN acknowledges nothing, and echoes nothing"
    );
}

#[test]
fn timestamps_need_both_syns() {
    let mut end = Endpoint::accepted(rfc());
    assert!(end.write(1000)[0].options.timestamps.is_none());
    assert!(end.hear(&data(1, 100)).iter().all(|s| s.options.timestamps.is_none()));
}

/// The stamp of the first segment that an acknowledgment covers is echoed, and a delay of the
/// acknowledgment counts as a part of the round trip (RFC 7323 §4.3 example 1).
#[test]
fn delayed_ack_echoes_earliest_segment() {
    let mut end = stamping(rfc());
    assert!(end.hear(&data_at(1100, 1, 1000)).is_empty());
    let answer = end.hear(&data_at(1150, 1001, 1000));
    assert_eq!((answer[0].acknowledgment.get(), echo(&answer[0])), (2001, 1100));
}

/// Out-of-order data does not change the echo, data that fills the hole does (examples 2 and 3).
#[test]
fn out_of_order_timestamp_is_not_echoed() {
    let config = Config { ack_delay: AckDelay::None, ..rfc() };
    let mut end = stamping(config);
    assert_eq!(echo(&end.hear(&data_at(1100, 1, 1000))[0]), 1100);
    assert_eq!(echo(&end.hear(&data_at(1200, 2001, 1000))[0]), 1100);
    let filled = end.hear(&data_at(1150, 1001, 1000));
    assert_eq!((filled[0].acknowledgment.get(), echo(&filled[0])), (3001, 1150));
    assert_eq!(echo(&end.hear(&data_at(1140, 501, 500))[0]), 1150, "the clock does not go back");
}

#[test]
fn paws_precedes_sequence_check() {
    let mut end = stamping(rfc());
    end.hear(&data_at(1100, 1, 1000));
    let answer = end.hear(&data_at(1050, 1001, 1000));
    assert_eq!((answer[0].acknowledgment.get(), end.it.readable_bytes()), (1001, 1000));
    // In the window or not, it is the timestamp that decides: the echo stays.
    let answer = end.hear(&data_at(900, 90_000_000, 1000));
    assert_eq!((answer[0].acknowledgment.get(), echo(&answer[0])), (1001, 1100));
    // The clock wraps.
    let mut end = stamping(rfc());
    end.hear(&data_at(1000 + (1 << 31) - 1, 1, 1000));
    end.hear(&data_at(5, 1001, 1000));
    assert_eq!(end.it.readable_bytes(), 2000);
}

#[test]
fn reset_ignores_old_timestamp() {
    let mut end = stamping(rfc());
    end.hear(&data_at(1100, 1, 1000));
    end.hear(&stamped(segment(Flags::RST, 1001, 0), 500, 0));
    assert_eq!(end.it.state(), fairwind_tcp::State::Closed);
}

#[test]
fn old_timestamp_is_ignored_after_silence() {
    let mut end = stamping(rfc());
    end.hear(&data_at(1100, 1, 1000));
    end.wait(Span::from_secs(24 * 24 * 3600));
    end.hear(&data_at(5, 1001, 1000));
    assert_eq!(end.it.readable_bytes(), 2000);
}

/// The echo of a duplicate has the age of the last data, and is no sample of the path.
#[test]
fn only_new_data_gives_rtt_samples() {
    let mut end = stamping(Config { minimum_rto: Span::from_millis(1), ..rfc() });
    let before = end.it.smoothed_rtt();
    let sent = end.write(1000);
    let stamp = sent[0].options.timestamps.unwrap().value;
    end.wait_millis(50);
    let smoothed = |end: &Endpoint| end.it.smoothed_rtt();
    end.hear(&stamped(ack(1), 1100, stamp));
    assert_eq!(smoothed(&end), before);
    end.hear(&stamped(ack(989), 1100, stamp));
    assert!(smoothed(&end) < before, "{:?} {before:?}", smoothed(&end));
}

/// A right edge that recedes by the rounding of the scale removes nothing.
#[test]
fn window_may_shrink_by_rounding() {
    let mut end = Endpoint::accepted_with(rfc(), Options { window_scale: Some(10), ..OFFER });
    end.hear(&Segment { window: 4, ..ack(1) });
    let config = Config { initial_window: 10, ..end.it.config().as_ref().clone() };
    end.it.reconfigure(end.now, std::sync::Arc::new(config));
    assert_eq!(end.write(9000).len(), 3);
    // 4096 bytes were offered; after 500 of them 3 KiB are, in units of 1 KiB: 524 bytes less.
    assert!(end.hear(&Segment { window: 3, ..ack(501) }).is_empty());
    assert_eq!(end.it.state(), fairwind_tcp::State::Established);
    assert!(!end.hear(&Segment { window: 4, ..ack(3001) }).is_empty());
}
