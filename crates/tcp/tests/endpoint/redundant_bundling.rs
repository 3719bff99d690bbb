//! Redundant data bundling: old data before new data in thin streams.

use crate::delivery;
use crate::pair::{End, Fate, Line, Pair};
use fairwind_tcp::{
    AckDelay, BundlingStreams, Config, EarlyRetransmit, Event, LossRecovery, Nagle, Profile,
    RedundantBundling, SmartFraming, TailLossProbe,
};
use fairwind_units::{Instant, Span};
use proptest::prelude::*;

const USUAL: RedundantBundling = RedundantBundling::USUAL;

/// RTT 100 ms, every segment acknowledged; only time-outs and bundles recover losses.
fn config(redundancy: Option<RedundantBundling>) -> Config {
    let mut config = Config {
        nagle: Nagle::Off,
        ack_delay: AckDelay::None,
        initial_ssthresh: Some(8),
        loss: LossRecovery {
            tail_loss_probe: TailLossProbe::Off,
            early_retransmit: EarlyRetransmit::Off,
            ..Profile::Linux3_16.config().loss
        },
        ..Profile::Linux3_16.config()
    };
    config.sending.redundancy = redundancy;
    config
}

fn pair(redundancy: Option<RedundantBundling>) -> Pair {
    // The receiver is any.
    Pair::established(config(redundancy), config(None))
}

/// Writes `bytes` at each of these milliseconds after the first second.
fn write_at(pair: &mut Pair, bytes: usize, instants: &[u64]) {
    for at in instants {
        pair.run_until(Instant::from_millis(1000 + at));
        pair.write(End::Client, bytes);
    }
}

/// Stream offset and payload of the data segments of the client.
fn sent(pair: &Pair) -> Vec<(u64, u32)> {
    pair.data_from(End::Client)
        .iter()
        .map(|Line { offset, segment, .. }| (*offset, segment.payload_bytes))
        .collect()
}

/// Loses the data segments of the client with these numbers, counted from 0.
fn lose(pair: &mut Pair, numbers: &'static [usize]) {
    let mut count = 0;
    pair.judged_by(move |from, _, segment| {
        if from != End::Client || segment.payload_bytes == 0 {
            return Fate::Deliver;
        }
        count += 1;
        if numbers.contains(&(count - 1)) { Fate::Drop } else { Fate::Deliver }
    });
}

#[test]
fn segment_carries_outstanding_predecessor() {
    let mut pair = pair(Some(USUAL));
    write_at(&mut pair, 120, &[0, 30, 60, 200]);
    pair.run_until(Instant::from_secs(3));
    // At 200 ms all is acknowledged.
    assert_eq!(sent(&pair), [(0, 120), (0, 240), (120, 240), (360, 120)]);
    assert_eq!(pair.read_bytes(End::Server), 480);
}

/// Eight segments within 40 ms, of which none is acknowledged before 100 ms.
#[test]
fn streams_decide_who_bundles() {
    let bundles = |streams| {
        let mut pair = pair(Some(RedundantBundling { streams, ..USUAL }));
        write_at(&mut pair, 120, &[0, 5, 10, 15, 20, 25, 30, 35]);
        pair.run_until(Instant::from_secs(3));
        assert_eq!(pair.read_bytes(End::Server), 960);
        sent(&pair).iter().filter(|(_, payload)| *payload == 240).count()
    };
    assert_eq!(bundles(BundlingStreams::All), 7);
    // With one, two and three outstanding before it.
    assert_eq!(bundles(BundlingStreams::Thin), 3);
}

#[test]
fn bundle_carries_allowed_older_segments() {
    let rule = |max_segments, max_bytes| RedundantBundling { max_segments, max_bytes, ..USUAL };
    let instants = [0, 15, 30, 45];
    let ends = |rule| {
        let mut pair = pair(Some(rule));
        write_at(&mut pair, 400, &instants);
        pair.run_until(Instant::from_secs(3));
        assert_eq!(pair.read_bytes(End::Server), 1600);
        sent(&pair)
    };
    assert_eq!(ends(rule(None, None)), [(0, 400), (0, 800), (0, 1200), (400, 1200)], "of 1448 B");
    assert_eq!(ends(rule(Some(2), None)), [(0, 400), (0, 800), (0, 1200), (400, 1200)]);
    assert_eq!(ends(rule(Some(1), None)), [(0, 400), (0, 800), (400, 800), (800, 800)]);
    assert_eq!(ends(rule(None, Some(800))), [(0, 400), (0, 800), (400, 800), (800, 800)]);
    assert_eq!(ends(rule(None, Some(799))), [(0, 400), (400, 400), (800, 400), (1200, 400)]);
}

/// A round trip of 100 ms has room for three intervals of 33 ms: the fourth segment is not bundled.
#[test]
fn thick_streams_do_not_bundle() {
    let mut pair = pair(Some(RedundantBundling { min_interval: Span::from_millis(33), ..USUAL }));
    write_at(&mut pair, 100, &[0, 10, 20, 30, 40]);
    pair.run_until(Instant::from_secs(3));
    assert_eq!(sent(&pair), [(0, 100), (0, 200), (100, 200), (300, 100), (400, 100)]);
}

#[test]
fn full_segments_carry_no_old_data() {
    let mut pair = pair(Some(USUAL));
    pair.write(End::Client, 3 * 1448 + 100);
    pair.run_until(Instant::from_secs(3));
    assert_eq!(sent(&pair), [(0, 1448), (1448, 1448), (2 * 1448, 1448), (3 * 1448, 100)]);
}

#[test]
fn the_last_segment_with_fin_goes_alone() {
    let mut pair = pair(Some(USUAL));
    pair.write(End::Client, 100);
    pair.run_until(Instant::from_millis(1020));
    pair.client.write(100);
    pair.client.close();
    pair.flush();
    assert_eq!(sent(&pair), [(0, 100), (100, 100)]);
}

/// The loss of a single segment: ITT + OWD = 150 + 50 ms, in place of 350 ms by time-out.
#[test]
fn next_bundle_delivers_lost_data() {
    let latency = |redundancy| {
        let mut pair = pair(redundancy);
        let instants: Vec<u64> = (0..60).map(|number| 150 * number).collect();
        lose(&mut pair, &[40]);
        write_at(&mut pair, 120, &instants);
        let lost_at = Instant::from_millis(1000 + 40 * 150);
        // The stream has advanced by then; check when the server's acknowledgment covers it.
        pair.run_until(Instant::from_secs(20));
        let covered = pair.dialogue.iter().find(|line| {
            line.from == End::Server && line.segment.acknowledgment.get() >= 1001 + 41 * 120
        });
        (covered.unwrap().at - lost_at).as_millis()
    };
    assert_eq!(latency(None), 350);
    assert_eq!(latency(Some(USUAL)), 200);
}

#[test]
fn hidden_loss_reduces_window() {
    let mut pair = pair(Some(USUAL));
    lose(&mut pair, &[20]);
    let instants: Vec<u64> = (0..40).map(|number| 150 * number).collect();
    write_at(&mut pair, 120, &instants[..21]);
    let before = pair.client.congestion_window();
    write_at(&mut pair, 120, &instants[21..]);
    pair.run_until(Instant::from_secs(20));
    assert_eq!(pair.count(Event::HiddenLoss), 1);
    assert_eq!(pair.count(Event::RetransmissionTimeout) + pair.count(Event::FastRetransmit), 0);
    // CUBIC: 717/1024 of the window.
    assert_eq!(pair.client.slow_start_threshold(), Some(before * 717 / 1024));
    assert_eq!(pair.read_bytes(End::Server), 40 * 120);
    let doubled = sent(&pair).iter().filter(|(_, bytes)| *bytes == 240).count();
    assert_eq!(doubled, 1, "only what follows the loss found anything outstanding");
}

/// 30 ms between writes: several segments are always outstanding, and every bundle arrives. Every
/// segment is acknowledged separately, and D-SACK reports the duplicates.
#[test]
fn unneeded_bundles_change_nothing() {
    let mut pair = pair(Some(USUAL));
    let instants: Vec<u64> = (0..100).map(|number| 30 * number).collect();
    write_at(&mut pair, 120, &instants);
    pair.run_until(Instant::from_secs(20));
    assert_eq!(pair.count(Event::HiddenLoss), 0);
    let reports = pair.dialogue.iter().filter(|line| {
        line.from == End::Server
            && line
                .segment
                .options
                .sack
                .as_slice()
                .first()
                .is_some_and(|block| block.right.is_at_or_before(line.segment.acknowledgment))
    });
    assert_eq!(reports.count(), 99, "D-SACK for every bundle");
    assert_eq!(pair.client.slow_start_threshold(), Some(8), "as configured");
}

#[test]
fn lost_bundle_is_retransmitted_unbundled() {
    let mut pair = pair(Some(RedundantBundling { max_segments: None, ..USUAL }));
    lose(&mut pair, &[20, 21]);
    let instants: Vec<u64> = (0..21).map(|number| 150 * number).collect();
    write_at(&mut pair, 120, &instants);
    write_at(&mut pair, 120, &[20 * 150 + 20]);
    pair.run_until(Instant::from_secs(20));
    assert_eq!(pair.count(Event::RetransmissionTimeout), 1);
    let lines = sent(&pair);
    assert_eq!(lines[20..22], [(20 * 120, 120), (20 * 120, 240)]);
    // Small segments are merged at retransmission, as without bundling.
    assert_eq!(lines[22..], [(20 * 120, 240)]);
    assert_eq!(pair.read_bytes(End::Server), 22 * 120);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    /// Bundles and small frames, at either end or both: the receiver takes the missing parts of
    /// overlapping segments, under any loss, reordering and duplication.
    #[test]
    fn bundled_stream_arrives_whole(
        client in delivery::config(),
        server in delivery::config(),
        switches in any::<[bool; 4]>(),
        max_segments in prop::option::of(1_u32..4),
        weather in delivery::weather(),
        writes in prop::collection::vec((1_usize..2_000, 0_u64..120), 1..30),
    ) {
        let with = |mut config: Config, [bundles, frames]: [bool; 2]| {
            let rule = RedundantBundling { max_segments, ..USUAL };
            config.sending.redundancy = bundles.then_some(rule);
            config.sending.framing = frames.then_some(SmartFraming::USUAL);
            config
        };
        let [first, second, third, fourth] = switches;
        let mut pair = Pair::established(
            with(client, [first || !second, second]),
            with(server, [third, fourth]),
        );
        pair.judged_by(weather.judge());
        let (mut written, mut answered) = (0, 0);
        for (bytes, pause) in writes {
            written += pair.write(End::Client, bytes);
            answered += pair.write(End::Server, bytes / 2);
            let later = pair.now + Span::from_millis(pause);
            pair.run_until(later);
        }
        pair.close(End::Client);
        pair.close(End::Server);
        let limit = pair.now + Span::from_secs(3_600 * 4);
        pair.run_to_rest(limit);
        if pair.count(Event::TimedOut) > 0 && weather.loss > 0.1 {
            return Ok(());
        }
        prop_assert_eq!(pair.read_bytes(End::Server), written);
        prop_assert_eq!(pair.read_bytes(End::Client), answered);
    }
}
