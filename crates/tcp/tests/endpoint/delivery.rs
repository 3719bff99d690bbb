//! Delivery: the received stream equals the sent one, whatever the network does.

use crate::pair::{End, Fate, Pair};
use fairwind_tcp::{
    BufferAccounting, Config, CongestionAlgorithm, Event, Factor, Nagle, Profile,
    RecoveryConstants, State, ThinRecovery, ThinStreams,
};
use fairwind_units::{Ratio, Span};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng as _};

/// Maximum time from the end of bad weather to the end of a connection with a full-sized window.
const MAX_COMPLETION_TIME: Span = Span::from_secs(45);

/// Maximum time of the next time-out, to which F-RTO can lead a sender without SACK: the new data that it has sent
/// fills the window.
const MAX_NEXT_TIMEOUT: Span = Span::from_secs(60);

/// Maximum time that silly window avoidance keeps a small segment back (RFC 9293 §3.8.6.2.1), and a round trip.
const MAX_SMALL_SEGMENT_TIME: Span = Span::from_millis(1_100);

#[derive(Debug, Clone)]
pub struct Weather {
    seed: u64,
    pub loss: f64,
    duplication: f64,
    lateness: f64,
}

impl Weather {
    pub fn judge(&self) -> impl FnMut(End, usize, &fairwind_wire::Segment) -> Fate + 'static {
        let mut random = rand_pcg::Pcg64Mcg::seed_from_u64(self.seed);
        let weather = self.clone();
        move |_, _, _| {
            let draw: f64 = random.random();
            let by = Span::from_millis(random.random_range(1..200));
            if draw < weather.loss {
                Fate::Drop
            } else if draw < weather.loss + weather.duplication {
                Fate::Duplicate(by)
            } else if draw < weather.loss + weather.duplication + weather.lateness {
                Fate::Late(by)
            } else {
                Fate::Deliver
            }
        }
    }
}

pub fn weather() -> impl Strategy<Value = Weather> {
    (any::<u64>(), 0.0..0.25, 0.0..0.2, 0.0..0.3).prop_map(|(seed, loss, duplication, lateness)| {
        Weather { seed, loss, duplication, lateness }
    })
}

/// Any limits of the mechanisms for thin streams, and half the time other constants of recovery.
fn thin() -> impl Strategy<Value = ThinRecovery> {
    let streams = prop_oneof![
        2 => (1..16_u32).prop_map(|below| ThinStreams::FewOutstanding { below }),
        1 => Just(ThinStreams::ApplicationLimited),
        1 => Just(ThinStreams::All),
    ];
    let constants = (100..200_u64, 100..300_u64, 0..300_u64, 0..100_u64).prop_map(
        |(backoff, probe, ack_delay, window)| RecoveryConstants {
            backoff_factor: percent(backoff),
            probe_factor: percent(probe),
            probe_ack_delay: Some(Span::from_millis(ack_delay)),
            reordering_window: percent(window),
        },
    );
    (streams, 0..10_u32, 1..5_u32, prop::option::of(constants)).prop_map(
        |(streams, linear_retries, duplicate_threshold, constants)| ThinRecovery {
            streams,
            linear_retries,
            duplicate_threshold,
            constants,
        },
    )
}

fn percent(percent: u64) -> Factor {
    Factor::from_ratio(Ratio::from_parts_per_billion(percent * 10_000_000))
}

pub fn config() -> impl Strategy<Value = Config> {
    let profile =
        prop_oneof![Just(Profile::Rfc), Just(Profile::Linux3_16), Just(Profile::Linux6_18)];
    let algorithm = prop_oneof![
        Just(CongestionAlgorithm::Reno),
        Just(CongestionAlgorithm::Bic),
        Just(CongestionAlgorithm::CubicLinux),
        Just(CongestionAlgorithm::Cubic9438)
    ];
    let nagle = prop_oneof![Just(Nagle::Off), Just(Nagle::Classic), Just(Nagle::Minshall)];
    let mss = prop_oneof![3 => Just(1460_u16), 1 => 500_u16..9_000];
    let sizes = (600_u32..200_000, mss);
    (profile, algorithm, nagle, any::<[bool; 7]>(), sizes, thin()).prop_map(
        |(profile, congestion, nagle, switches, (receive_buffer, mss), thin)| {
            let [sack, timestamps, scaling, mfr, lt, limited, collapse] = switches;
            Config {
                mss,
                sack,
                timestamps,
                window_scaling: scaling,
                modified_fast_retransmit: mfr,
                linear_timeouts: lt,
                thin,
                limited_transmit: limited,
                collapse_retransmissions: collapse,
                receive_buffer,
                congestion,
                nagle,
                ..profile.config()
            }
        },
    )
}

/// Two ends whose closed windows open again. Linux without window scaling leaves a window closed while its limit, a
/// share of the memory, is below one segment (`__tcp_select_window`).
fn reopening([mut client, mut server]: [Config; 2]) -> [Config; 2] {
    let scales = client.window_scaling && server.window_scaling;
    for end in [&mut client, &mut server] {
        if !scales && end.receiving.accounting == BufferAccounting::Memory {
            end.receive_buffer = end.receive_buffer.max(2 * u32::from(end.mss));
        }
    }
    [client, server]
}

/// Maximum time from the end of bad weather to the end of a connection of two ends that have written so many bytes.
fn max_completion_time([client, server]: &[Config; 2], written: [usize; 2]) -> Span {
    let mut time = MAX_COMPLETION_TIME
        + max_silly_window_time(client, server, written[0])
        + max_silly_window_time(server, client, written[1]);
    let sack = client.sack && server.sack;
    if !sack && (client.loss.forward_rto || server.loss.forward_rto) {
        time += MAX_NEXT_TIMEOUT;
    }
    time
}

/// Maximum time that silly window avoidance adds to a transfer of `written` bytes. Zero for receivers that can offer
/// full-sized windows; others offer a quarter of their buffer at least.
fn max_silly_window_time(sender: &Config, receiver: &Config, written: usize) -> Span {
    let segment = u32::from(sender.mss.min(receiver.mss));
    if receiver.receive_buffer >= 4 * segment {
        return Span::ZERO;
    }
    MAX_SMALL_SEGMENT_TIME * (written as u64).div_ceil(u64::from(receiver.receive_buffer / 4))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Under any loss, reordering and duplication both streams arrive whole and in order, across
    /// any wrap of the sequence numbers, and both ends come to rest closed.
    #[test]
    fn the_stream_delivered_is_the_stream_sent(
        client in config(),
        server in config(),
        weather in weather(),
        isns in any::<[u32; 2]>(),
        writes in prop::collection::vec((1_usize..5_000, 0_u64..300), 1..30),
        answer in 0_usize..20_000,
    ) {
        let [client, server] = reopening([client, server]);
        let mut pair = Pair::starting_at(client, server, isns[0], isns[1]);
        pair.judged_by(weather.judge());
        let mut written = 0;
        for (bytes, pause) in writes {
            written += pair.write(End::Client, bytes);
            let later = pair.now + Span::from_millis(pause);
            pair.run_until(later);
        }
        let answered = pair.write(End::Server, answer);
        pair.close(End::Client);
        let limit = pair.now + Span::from_secs(3_600 * 4);
        pair.run_to_rest(limit);
        // A connection that is closed while its SYNs are lost is simply gone (RFC 9293 §3.10.4).
        if pair.client.state() == State::Closed && pair.read_bytes(End::Server) == 0 {
            return Ok(());
        }
        // With a quarter of all segments lost, backed-off time-outs of a quarter of an hour fail
        // about once in ten thousand times.
        if pair.count(Event::TimedOut) > 0 && weather.loss > 0.1 {
            return Ok(());
        }
        prop_assert_eq!(pair.read_bytes(End::Server), written);
        pair.close(End::Server);
        let limit = pair.now + Span::from_secs(3_600 * 4);
        pair.run_to_rest(limit);
        if pair.count(Event::TimedOut) > 0 && weather.loss > 0.1 {
            return Ok(());
        }
        prop_assert_eq!(pair.read_bytes(End::Client), answered);
        prop_assert_eq!(pair.server.state(), State::Closed);
        prop_assert_eq!(pair.client.state(), State::Closed);
    }

    /// Once the network is perfect and the applications read, both streams complete and both ends
    /// close within bounded time. The bad weather lasts less than 30 s, so a running time-out has
    /// at most 32 s left. A connection that waits for a wrong timer or for none takes longer.
    #[test]
    fn transfer_completes_after_network_recovers(
        configs in (config(), config()),
        loss in 0.0..0.9,
        weather in weather(),
        steps in prop::collection::vec((0_usize..6_000, 0_usize..3_000, any::<bool>(), 0_u64..2_000), 1..15),
    ) {
        let ends = reopening([configs.0, configs.1]);
        let mut pair = Pair::established(ends[0].clone(), ends[1].clone());
        pair.judged_by(Weather { loss, ..weather }.judge());
        let mut written = [0, 0];
        for (up, down, reads, pause) in steps {
            pair.reads = reads;
            written[0] += pair.write(End::Client, up);
            written[1] += pair.write(End::Server, down);
            let later = pair.now + Span::from_millis(pause);
            pair.run_until(later);
        }
        pair.judged_by(|_, _, _| Fate::Deliver);
        pair.reads = true;
        pair.read_all(End::Client);
        pair.read_all(End::Server);
        pair.close(End::Client);
        pair.close(End::Server);
        let clear = pair.now;
        pair.run_until(clear + max_completion_time(&ends, written));
        prop_assert_eq!([pair.read_bytes(End::Server), pair.read_bytes(End::Client)], written);
        for state in [pair.client.state(), pair.server.state()] {
            prop_assert!(matches!(state, State::TimeWait | State::Closed), "{state:?}");
        }
    }

    /// No segment, however strange, makes an endpoint panic or hand out bytes that never came.
    #[test]
    fn arbitrary_segments_keep_invariants(
        config in config(),
        segments in prop::collection::vec(arbitrary_segment(), 1..200),
    ) {
        let mut pair = Pair::established(config.clone(), config);
        pair.client.write(50_000);
        let mut now = pair.now;
        while pair.client.poll_segment(now).is_some() {}
        for (segment, pause) in segments {
            now += Span::from_millis(pause);
            pair.client.on_deadline(now);
            pair.client.on_segment(now, &segment);
            let mut sent = 0;
            while pair.client.poll_segment(now).is_some() {
                sent += 1;
                prop_assert!(sent < 10_000, "an endless stream of segments");
            }
            prop_assert!(pair.client.congestion_window() >= 1);
        }
    }
}

fn arbitrary_segment() -> impl Strategy<Value = (fairwind_wire::Segment, u64)> {
    use fairwind_wire::{
        Flags, Options, SackBlock, Segment, SequenceNumber, Timestamps, TrafficClass,
    };
    let near = |base: u32| {
        prop_oneof![
            8 => (0_u32..60_000).prop_map(move |ahead| SequenceNumber::new(base.wrapping_add(ahead).wrapping_sub(2_000))),
            1 => any::<u32>().prop_map(SequenceNumber::new),
        ]
    };
    let block = (near(1_001), 0_u32..10_000)
        .prop_map(|(left, length)| SackBlock { left, right: left + length });
    let flags = prop_oneof![8 => Just(Flags::ACK), 1 => any::<u16>().prop_map(Flags::from_bits)];
    (
        near(5_001),
        near(1_001),
        flags,
        any::<u16>(),
        prop_oneof![2 => Just(0_u32), 1 => 0_u32..3_000],
        prop::collection::vec(block, 0..4),
        prop::option::of((any::<u32>(), any::<u32>())),
        (0_u64..2_000, any::<u8>()),
    )
        .prop_map(
            |(
                sequence,
                acknowledgment,
                flags,
                window,
                payload_bytes,
                sack,
                stamps,
                (pause, class),
            )| {
                let options = Options {
                    sack: sack.into_iter().collect(),
                    timestamps: stamps.map(|(value, echo)| Timestamps { value, echo }),
                    ..Options::NONE
                };
                let segment = Segment {
                    source_port: 80,
                    destination_port: 40_000,
                    sequence,
                    acknowledgment,
                    flags,
                    window,
                    urgent: 0,
                    traffic_class: TrafficClass::new(class),
                    payload_bytes,
                    options,
                };
                (segment, pause)
            },
        )
}
