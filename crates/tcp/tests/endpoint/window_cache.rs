//! Advice of window caches: initial windows, round trips, and Careful Resume (RFC 9959).

use crate::pair::{End, Fate, Pair};
use fairwind_tcp::{
    Advice, CacheMiss, CarefulResumeConfig, Config, CongestionAlgorithm, ConnectionId, Event,
    IdleRestart, Profile, Resumption, ResumptionEnd, ResumptionPhase, Share, TimeoutSeed,
};
use fairwind_units::{Instant, Span};

const SEGMENT: usize = 1448;

const fn ms(millis: u64) -> Span {
    Span::from_millis(millis)
}

const fn at(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

/// Reno that begins with ten segments, and a receiver that acknowledges each one; round trips of 100 ms.
fn config() -> Config {
    Config {
        congestion: CongestionAlgorithm::Reno,
        initial_window: 10,
        initial_window_in_bytes: false,
        ack_delay: fairwind_tcp::AckDelay::None,
        ..Profile::Rfc.config()
    }
}

/// A client that was advised before the answer to its SYN, open since 0.1 s; the time is one
/// second.
fn advised(advice: Advice) -> Pair {
    let mut pair = Pair::new(config(), config());
    pair.client.advise(advice);
    pair.run_until(Instant::from_secs(1));
    pair.dialogue.clear();
    pair
}

fn resumption(jump: u32, saved_rtt: Span) -> Advice {
    let retreat = CarefulResumeConfig::USUAL.retreat;
    Advice { resumption: Some(Resumption { jump, saved_rtt, retreat }), ..Advice::default() }
}

/// A transfer of `segments` segments that resumes a jump of 50; segments with a number in `lost` are lost once.
fn resumed(segments: usize, jump: u32, saved_rtt: Span, lost: Vec<usize>) -> Pair {
    let mut pair = advised(resumption(jump, saved_rtt));
    pair.judged_by(move |from, number, _| match from {
        End::Client if lost.contains(&number) => Fate::Drop,
        _ => Fate::Deliver,
    });
    pair.write(End::Client, segments * SEGMENT);
    pair
}

/// The phases, with when they began.
fn phases(pair: &Pair) -> Vec<(Instant, ResumptionPhase)> {
    let phase = |&(at, _, event): &(Instant, End, Event)| match event {
        Event::Resumption(phase) => Some((at, phase)),
        _ => None,
    };
    pair.events.iter().filter_map(phase).collect()
}

fn names(pair: &Pair) -> Vec<ResumptionPhase> {
    phases(pair).into_iter().map(|(_, phase)| phase).collect()
}

const RECONNAISSANCE: ResumptionPhase = ResumptionPhase::Reconnaissance;

fn ended(why: ResumptionEnd) -> ResumptionPhase {
    ResumptionPhase::Normal(why)
}

/// By hand: ten segments leave at 1.0 s. At 1.1 s they are acknowledged one by one, and each releases two. With
/// the tenth acknowledgment 18 are in flight, and the window jumps to 50. The other 32 leave within 64 ms, one
/// every 2 ms. At 1.2 s the flight is 50: the jump is complete. Its last segment is acknowledged after 100 ms,
/// at 1.262 s.
#[test]
fn careful_resume_passes_all_phases() {
    let mut pair = resumed(400, 50, ms(100), Vec::new());
    pair.run_until(at(1_199));
    assert_eq!(pair.client.congestion_window(), 50);
    assert_eq!(pair.client.flight(), 50);
    pair.run_until(at(1_250));
    assert_eq!(pair.client.resumption_phase(), Some(ResumptionPhase::Validating));
    pair.run_to_rest(Instant::from_secs(9));
    assert_eq!(
        phases(&pair),
        [
            (at(100), RECONNAISSANCE),
            (at(1_100), ResumptionPhase::Unvalidated),
            (at(1_200), ResumptionPhase::Validating),
            (at(1_262), ended(ResumptionEnd::Validated)),
        ]
    );
    assert_eq!(pair.read_bytes(End::Server), 400 * SEGMENT);
    assert_eq!(pair.client.slow_start_threshold(), None);
}

#[test]
fn jump_is_paced_over_a_round_trip() {
    let mut pair = resumed(400, 50, ms(100), Vec::new());
    pair.run_until(at(1_199));
    let leaves: Vec<_> = pair.data_from(End::Client).iter().map(|line| line.at).collect();
    assert_eq!(leaves.len(), 60);
    let unvalidated: Vec<_> = leaves[28..].to_vec();
    let gaps: Vec<_> =
        unvalidated.windows(2).map(|pair| pair[1].saturating_since(pair[0])).collect();
    assert!(
        gaps.iter().all(|gap| *gap >= ms(2) && *gap < ms(2) + Span::from_micros(1)),
        "{gaps:?}"
    );
}

/// At 1.2 s the 18 segments from before the jump are acknowledged, and the first of the jump. The first
/// acknowledgment leaves 49 in flight, which is the window; the other 18 let it grow by one each.
#[test]
fn validating_window_grows_from_flight() {
    let mut pair = resumed(400, 50, ms(100), Vec::new());
    pair.run_until(at(1_200));
    assert_eq!(pair.client.congestion_window(), 49 + 18);
}

/// Segment 37 is the tenth of the jump. It leaves at 1.118 s; the three after it reveal the loss at 1.224 s. By
/// then 18 segments were in flight before the jump, nine later ones were acknowledged and three reported: the
/// pipe size is 30, and the window is 15.
#[test]
fn loss_after_jump_halves_pipe_size() {
    let mut pair = resumed(400, 50, ms(100), vec![37]);
    pair.run_until(at(1_225));
    assert_eq!(names(&pair)[2..], [ResumptionPhase::Validating, ResumptionPhase::SafeRetreat]);
    assert_eq!(phases(&pair)[3].0, at(1_224));
    assert_eq!(pair.client.congestion_window(), 15);
}

/// In safe retreat the window never rises. It ends when the lost segment is recovered, which covers the rest;
/// the threshold is then half of the pipe size.
#[test]
fn safe_retreat_holds_window_then_sets_threshold() {
    let mut pair = resumed(400, 50, ms(100), vec![37]);
    pair.run_until(at(1_224));
    for tick in 1_225..1_324 {
        pair.run_until(at(tick));
        assert!(pair.client.congestion_window() <= 15, "at {tick} ms");
    }
    pair.run_until(at(1_324));
    let (ended_at, why) = phases(&pair)[4];
    assert_eq!((ended_at, why), (at(1_324), ended(ResumptionEnd::Retreated)));
    let delivered = u32::try_from(pair.client.acknowledged_bytes()).unwrap() / 1448;
    let carried = 18 + delivered - 28;
    assert_eq!(pair.client.slow_start_threshold(), Some(carried / 2));
    pair.run_to_rest(Instant::from_secs(20));
    assert_eq!(pair.read_bytes(End::Server), 400 * SEGMENT);
}

/// Segment 20 left before the jump and is lost; its retransmission is acknowledged at 1.3 s, 100 ms after the
/// detection. Data sent after the jump and reported meanwhile counts for the pipe size, though it lies after
/// the hole.
#[test]
fn sacked_data_counts_for_pipe_size() {
    let mut pair = resumed(400, 50, ms(100), vec![20]);
    pair.run_until(at(1_299));
    assert_eq!(pair.client.resumption_phase(), Some(ResumptionPhase::SafeRetreat));
    pair.run_until(at(1_300));
    let (ended_at, why) = *phases(&pair).last().unwrap();
    assert_eq!((ended_at, why), (at(1_300), ended(ResumptionEnd::Retreated)));
    let delivered = u32::try_from(pair.client.acknowledged_bytes()).unwrap() / 1448;
    assert!(delivered >= 60, "{delivered}: all that the jump has sent");
    assert_eq!(pair.client.slow_start_threshold(), Some((18 + delivered - 28) / 2));
}

#[test]
fn loss_ends_reconnaissance() {
    let mut pair = resumed(400, 50, ms(100), vec![3]);
    pair.run_to_rest(Instant::from_secs(20));
    assert_eq!(names(&pair), [RECONNAISSANCE, ended(ResumptionEnd::Congested)]);
}

/// The round trip is 100 ms: half of 200 ms is not longer, ten times 9 ms is shorter.
#[test]
fn other_rtt_ends_reconnaissance() {
    for (saved, is_same) in [(200, false), (199, true), (10, true), (9, false)] {
        let mut pair = resumed(400, 50, ms(saved), Vec::new());
        pair.run_until(at(1_150));
        let next =
            if is_same { ResumptionPhase::Unvalidated } else { ended(ResumptionEnd::PathChanged) };
        assert_eq!(names(&pair), [RECONNAISSANCE, next], "{saved} ms");
    }
}

#[test]
fn large_window_does_not_jump() {
    let mut pair = resumed(400, 20, ms(100), Vec::new());
    pair.run_until(at(1_150));
    assert_eq!(names(&pair), [RECONNAISSANCE, ended(ResumptionEnd::NothingToGain)]);
}

/// 30 segments fit in the window without a jump.
#[test]
fn application_limited_sender_stays_in_reconnaissance() {
    let mut pair = resumed(30, 50, ms(100), Vec::new());
    pair.run_to_rest(Instant::from_secs(9));
    assert_eq!(names(&pair), [RECONNAISSANCE]);
}

/// 32 segments: four are left at the jump, three of them in flight at the first acknowledgment. That is less
/// than an initial window, so the window is the pipe size: the 18 before and that one.
#[test]
fn rate_limited_jump_leaves_pipe_size() {
    let mut pair = resumed(32, 50, ms(100), Vec::new());
    pair.run_until(at(1_200));
    let expected =
        [RECONNAISSANCE, ResumptionPhase::Unvalidated, ended(ResumptionEnd::RateLimited)];
    assert_eq!(names(&pair), expected);
    assert_eq!(pair.client.congestion_window(), 19);
}

#[test]
fn timeout_ends_careful_resume_with_bound() {
    let mut pair = resumed(400, 50, ms(100), (28..100).collect());
    pair.run_until(Instant::from_secs(4));
    let last = *names(&pair).last().unwrap();
    assert_eq!(last, ended(ResumptionEnd::TimedOut));
    assert!(pair.client.slow_start_threshold().unwrap() <= 9, "half of 18");
}

#[test]
fn connection_uses_advised_window_and_threshold() {
    let advice = Advice { window: Some(32), slow_start_threshold: Some(24), ..Advice::default() };
    let mut pair = advised(advice);
    assert_eq!(pair.client.congestion_window(), 32);
    assert_eq!(pair.client.slow_start_threshold(), Some(24));
    pair.write(End::Client, 100 * SEGMENT);
    assert_eq!(pair.data_from(End::Client).len(), 32, "the first flight");
}

#[test]
fn safe_trust_keeps_initial_window() {
    for (min, expected) in [(4, 10), (16, 16)] {
        let pair = advised(Advice { min_window: Some(min), ..Advice::default() });
        assert_eq!(pair.client.congestion_window(), expected);
    }
}

/// Twice 16 segments in the 100 ms of the handshake are one every 3.125 ms, after the ten that are sent
/// immediately anyway. From the first acknowledgment on, at 1.1 s, each releases two immediately. An active end
/// assumes a window of ten until then, as in Linux: 5 ms.
#[test]
fn safe_trust_paces_only_first_flight() {
    for (end, gap_micros) in [(End::Server, 3_125), (End::Client, 5_000)] {
        let mut pair = Pair::new(config(), config());
        let advice = Advice { min_window: Some(16), ..Advice::default() };
        pair.end(end).advise(advice);
        pair.run_until(Instant::from_secs(1));
        pair.write(end, 100 * SEGMENT);
        pair.run_until(at(1_101));
        let leaves: Vec<_> = pair.data_from(end).iter().map(|line| line.at).collect();
        assert_eq!(leaves[..10], [at(1_000); 10]);
        for (number, &left) in (1..).zip(&leaves[10..16]) {
            let due = at(1_000) + Span::from_micros(gap_micros * number);
            assert!(left >= due && left < due + Span::from_micros(1), "{number}: {left:?}");
        }
        let later: Vec<_> = leaves[16..].to_vec();
        assert_eq!(later, [at(1_100); 20], "ten acknowledgments let two each leave");
    }
}

/// At 1.05 s the time-out of 1 s has not passed since the handshake. A window that waits meanwhile has not been
/// unused (Linux `tcp_init_transfer`, `tcp_cwnd_validate`).
#[test]
fn unused_advised_window_is_kept() {
    let config = Config { idle_restart: IdleRestart::Halving, ..config() };
    let mut pair = Pair::new(config.clone(), config);
    pair.server.advise(Advice { min_window: Some(32), ..Advice::default() });
    pair.run_until(at(1_050));
    pair.write(End::Server, 100 * SEGMENT);
    pair.run_until(at(1_140));
    assert_eq!(pair.data_from(End::Server).len(), 32);
    assert_eq!(pair.server.congestion_window(), 32);
}

/// Open since 0.15 s, with a time-out of 1 s. Data written at 2.65 s finds a window unused for 2.5 s: one
/// time-out to become stale, and two since then to halve it (Linux `tcp_finish_connect` starts the count).
#[test]
fn advised_window_becomes_stale() {
    let window = |idle_restart, advised, written_at| {
        let config = Config { idle_restart, ..config() };
        let mut pair = Pair::new(config.clone(), config);
        pair.server.advise(Advice { window: advised, ..Advice::default() });
        pair.run_until(written_at);
        pair.write(End::Server, 100 * SEGMENT);
        assert_eq!(pair.server.slow_start_threshold(), None, "nothing was lost");
        pair.server.congestion_window()
    };
    for (idle_restart, early, late) in [
        (IdleRestart::Off, 64, 64),
        (IdleRestart::InitialWindow, 64, 10),
        (IdleRestart::Halving, 64, 16),
    ] {
        assert_eq!(window(idle_restart, Some(64), at(1_150)), early, "{idle_restart:?}");
        assert_eq!(window(idle_restart, Some(64), at(2_650)), late, "{idle_restart:?}");
        assert_eq!(window(idle_restart, None, at(2_650)), 10, "{idle_restart:?}");
    }
}

#[test]
fn connection_reports_cache_miss() {
    let min = |window, path| Advice {
        min_window: Some(window),
        path_rtt: Some(ms(path)),
        ..Advice::default()
    };
    let exactly = |window| Advice { window: Some(window), ..Advice::default() };
    for (advice, expected) in [
        (Advice::default(), None),
        (resumption(50, ms(100)), None),
        (exactly(10), None),
        (exactly(4), None),
        (min(16, 100), None),
        (min(10, 100), Some(CacheMiss::TooSmall)),
        (min(4, 300), Some(CacheMiss::TooSmall)),
        (min(16, 300), Some(CacheMiss::Unfit)),
    ] {
        assert_eq!(advised(advice).client.cache_miss(), expected, "{advice:?}");
    }
    for advice in [exactly(1), exactly(32), min(1, 100), min(32, 100)] {
        let mut pair = Pair::new(config(), config());
        pair.client.advise(advice);
        pair.judged_by(|from, number, _| match (from, number) {
            (End::Client, 0) => Fate::Drop,
            _ => Fate::Deliver,
        });
        assert_eq!(pair.client.cache_miss(), None, "it is not open yet");
        pair.run_until(Instant::from_secs(3));
        assert_eq!(pair.client.cache_miss(), Some(CacheMiss::Unfit), "{advice:?} after a lost SYN");
        assert_eq!(pair.client.congestion_window(), 1);
    }
}

#[test]
fn useless_safe_trust_paces_nothing() {
    for advice in [
        Advice { min_window: Some(10), ..Advice::default() },
        Advice { min_window: Some(16), path_rtt: Some(ms(200)), ..Advice::default() },
        Advice { window: Some(16), ..Advice::default() },
    ] {
        let mut pair = advised(advice);
        pair.write(End::Client, 100 * SEGMENT);
        let leaves = pair.data_from(End::Client);
        let window = usize::try_from(advice.window.unwrap_or(10)).unwrap();
        assert_eq!(leaves.len(), window, "{advice:?}: all at once");
    }
}

/// The handshake takes 100 ms: half of 200 ms is equal, which means another path, and so is ten times 10 ms,
/// which does not.
#[test]
fn safe_trust_requires_same_path() {
    for (min, expected) in [(200, 10), (199, 16), (10, 16), (9, 10)] {
        let path_rtt = Some(ms(min));
        let pair = advised(Advice { min_window: Some(16), path_rtt, ..Advice::default() });
        assert_eq!(pair.client.congestion_window(), expected, "{min} ms");
    }
}

#[test]
fn lost_syn_overrides_advised_window() {
    let mut pair = Pair::new(config(), config());
    pair.client.advise(Advice { window: Some(32), ..Advice::default() });
    pair.judged_by(|from, number, _| match (from, number) {
        (End::Client, 0) => Fate::Drop,
        _ => Fate::Deliver,
    });
    pair.run_until(Instant::from_secs(3));
    assert_eq!(pair.client.congestion_window(), 1);
}

/// The handshake takes 100 ms. With 300 ms and 40 ms cached: RTTVAR 3/4 40 + 1/4 200 = 80, SRTT 7/8 300 + 1/8
/// 100 = 275 (RFC 6298 §2.3).
#[test]
fn cached_rtt_seeds_the_estimator() {
    let (rtt, variation) = (ms(300), ms(40));
    let timeout = Some(TimeoutSeed::Estimator { rtt, variation });
    let pair = advised(Advice { timeout, ..Advice::default() });
    assert_eq!(pair.client.smoothed_rtt(), Some(ms(275)));
    assert_eq!(pair.client.window_report(ConnectionId(0)).rtt_variation, ms(80));
}

/// Linux: the cached round trip plus twice it, if longer than that of the handshake.
#[test]
fn first_timeout_follows_longer_cached_rtt() {
    for (remembered, expected) in [(700, 2_100), (50, 1_000)] {
        let timeout = Some(TimeoutSeed::FirstTimeout { rtt: ms(remembered) });
        let pair = advised(Advice { timeout, ..Advice::default() });
        assert_eq!(pair.client.retransmission_timeout(), ms(expected));
        assert_eq!(pair.client.smoothed_rtt(), Some(ms(100)), "the estimator does not follow it");
    }
}

/// A handshake with a lost SYN gives no round trip without timestamps: 3 s (RFC 6298 §5.7), unless one is
/// cached.
#[test]
fn first_timeout_follows_cached_rtt_without_sample() {
    let first_timeout = |timeout: Option<TimeoutSeed>| {
        let config = Config { timestamps: false, ..config() };
        let mut pair = Pair::new(config.clone(), config);
        pair.client.advise(Advice { timeout, ..Advice::default() });
        pair.judged_by(|from, number, _| match (from, number) {
            (End::Client, 0) => Fate::Drop,
            _ => Fate::Deliver,
        });
        pair.run_until(Instant::from_secs(3));
        assert_eq!(pair.client.smoothed_rtt(), None);
        pair.client.retransmission_timeout()
    };
    assert_eq!(first_timeout(None), ms(3_000));
    assert_eq!(first_timeout(Some(TimeoutSeed::FirstTimeout { rtt: ms(700) })), ms(2_100));
}

#[test]
fn share_is_ignored_during_recovery() {
    let mut pair = advised(Advice::default());
    let share =
        |window| Share { connection: ConnectionId(0), window, slow_start_threshold: Some(5) };
    pair.client.take_share(&share(7));
    assert_eq!(pair.client.slow_start_threshold(), Some(5));
    assert_eq!(pair.client.congestion_window(), 7);
    let mut pair = resumed(400, 50, ms(100), vec![3]);
    pair.run_until(at(1_110));
    let window = pair.client.congestion_window();
    pair.client.take_share(&share(77));
    assert_eq!(pair.client.congestion_window(), window);
}

/// Before its handshake is over a connection reports its initial window (RFC 9040 §7.2), which joining
/// connections divide.
#[test]
fn early_share_becomes_initial_window() {
    let of_advice = [
        Advice { window: Some(246), slow_start_threshold: Some(123), ..Advice::default() },
        Advice::default(),
    ];
    for advice in of_advice {
        let mut pair = Pair::new(config(), config());
        let initial = pair.client.congestion_window();
        pair.client.advise(advice);
        assert_eq!(pair.client.has_window_to_share(), advice.window.is_some());
        let report = pair.client.window_report(ConnectionId(0));
        assert_eq!(report.window, advice.window.unwrap_or(initial));
        assert_eq!(report.slow_start_threshold, advice.slow_start_threshold);
        let connection = ConnectionId(0);
        for (window, slow_start_threshold) in [(7, Some(5)), (6, None)] {
            pair.client.take_share(&Share { connection, window, slow_start_threshold });
            let report = pair.client.window_report(connection);
            assert_eq!((report.window, report.slow_start_threshold), (window, Some(5)));
        }
        pair.run_until(Instant::from_secs(1));
        assert_eq!(pair.client.congestion_window(), 6);
        assert_eq!(pair.client.slow_start_threshold(), Some(5));
        assert_eq!(pair.client.window_report(connection).window, 6);
        assert!(pair.client.has_window_to_share());
    }
}

#[test]
fn only_sharing_connections_have_cache_events() {
    for shares in [false, true] {
        let mut config = config();
        config.growth.shares = shares;
        let mut pair = Pair::new(config.clone(), config);
        pair.run_until(Instant::from_secs(1));
        pair.close(End::Client);
        pair.run_until(Instant::from_secs(2));
        let told: Vec<_> = pair
            .events
            .iter()
            .filter(|(_, _, event)| {
                matches!(event, Event::PeerAsks | Event::Closing | Event::AllAcknowledged)
            })
            .map(|&(_, end, event)| (end, event))
            .collect();
        let expected = [
            (End::Server, Event::PeerAsks),
            (End::Client, Event::Closing),
            (End::Client, Event::AllAcknowledged),
        ];
        assert_eq!(told, if shares { &expected[..] } else { &[] });
    }
}
