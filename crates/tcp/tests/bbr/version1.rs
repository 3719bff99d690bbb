//! BBR version 1: Cardwell, Cheng, Gunn, Yeganeh, Jacobson, "BBR: Congestion-Based Congestion Control" (2016),
//! and the additions of Linux.

use crate::path::{Path, PathSettings, Policing};
use crate::recorder::{Decision, rounds, stretches};
use fairwind_tcp::{CongestionAlgorithm, bbr1};
use fairwind_units::Span;

fn seconds(seconds: f64) -> Span {
    Span::from_secs_f64(seconds)
}

/// 20 Mbit/s and 40 ms, which is 67 segments, and a much longer queue.
fn way() -> PathSettings {
    PathSettings::new(20_000_000, Span::from_millis(40), 1_000)
}

/// The window of probing for the round trip.
fn probes_rtt(decision: &Decision) -> bool {
    decision.window <= 4
}

/// The queue of start-up drains in less than two seconds; the first probe for the round trip is after ten.
#[test]
fn single_flow_fills_link_with_short_queue() {
    let mut path = Path::greedy(way(), 1, bbr1());
    path.run_until(seconds(10.0));
    let share = path.share(0, seconds(2.0), seconds(10.0));
    assert!((0.99..=1.001).contains(&share), "{share}");
    let waits = path.waits(seconds(2.0), seconds(10.0));
    // Cruising leaves at most three bundles of two segments, plus rounding to an even number, 8 x 0.6 ms.
    let usual = waits[waits.len() / 2];
    assert!(usual <= seconds(0.005), "{usual}");
    // A round trip at 5/4 adds a quarter of the 40 ms, and lasts at most until all of it is
    // acknowledged.
    let longest = *waits.last().unwrap();
    assert!(longest <= seconds(0.016), "{longest}");
    assert_eq!(path.drops, 0);
}

/// 200 Mbit/s and 40 ms hold 667 segments: 10, 20, 40, ... 640 are six doublings.
#[test]
fn startup_doubles_rate_per_round() {
    let way = PathSettings { bits_per_second: 200_000_000, room: 5_000, ..way() };
    let mut path = Path::greedy(way, 2, bbr1());
    path.run_until(seconds(1.0));
    let decisions = path.decisions(0);
    let delivered = |at: f64| {
        let before = decisions.iter().take_while(|decision| decision.at < seconds(at));
        f64::from(before.last().map_or(0, |decision| decision.delivered))
    };
    // The first data is acknowledged after two round trips.
    let per_round: Vec<f64> = (2..8)
        .map(|round| f64::from(round) * 0.04)
        .map(|begin| delivered(begin + 0.04) - delivered(begin))
        .collect();
    for pair in per_round[..5].windows(2) {
        let growth = pair[1] / pair[0];
        assert!((1.7..=2.3).contains(&growth), "{per_round:?}");
    }
}

#[test]
fn startup_ends_without_growth_then_drains() {
    let way = way();
    let mut path = Path::greedy(way, 3, bbr1());
    path.run_until(seconds(2.0));
    let decisions = path.decisions(0);
    let full = decisions.iter().position(|decision| way.gain(decision.sampled) > 0.8).unwrap();
    let drains = decisions
        .iter()
        .position(|decision| way.paces(decision) < 0.5 && decision.at > decisions[full].at);
    let drains = drains.unwrap();
    // The round at whose start the bandwidth was full, and three more.
    let passed = rounds(&decisions[full..=drains]);
    assert!((3..=4).contains(&passed), "{passed} rounds");
    // 1000/2885.
    let gain = way.paces(&decisions[drains]);
    assert!((gain - 0.343).abs() < 0.01, "{gain}");
    let over = decisions[drains..].iter().find(|decision| way.paces(decision) > 0.5).unwrap();
    // The pipe with 0.4 ms of the present bundle and three bundles of two, rounded to even, and the arrivals
    // until the next bundle at that gain.
    let left = f64::from(over.flight) - way.product();
    assert!((0.0..=9.3 + 2.0 / 0.343).contains(&left), "{left} segments beyond the pipe");
}

/// Below 1.2 Mbit/s segments leave one by one, above in bundles of two (`bbr_min_tso_segs`).
#[test]
fn bundles_have_one_segment_at_low_rates() {
    let together = |bits_per_second: u64| {
        let way = PathSettings::new(bits_per_second, Span::from_millis(200), 1_000);
        let mut path = Path::greedy(way, 4, bbr1());
        path.run_until(seconds(9.0));
        path.share_together(seconds(4.0), seconds(9.0))
    };
    let (slow, quick) = (together(900_000), together(2_000_000));
    assert!(slow < 0.05 && (0.4..=0.55).contains(&quick), "{slow} and {quick}");
}

/// A tenth of the packets is lost and retransmitted: 10 % more than the rate without pacing of retransmissions.
/// The margin is the deviation of the rate from its mean.
#[test]
fn retransmissions_are_paced() {
    let way = PathSettings { loss_per_thousand: 100, ..way() };
    let mut path = Path::greedy(way, 11, bbr1());
    path.run_until(seconds(4.0));
    let dropped_before = path.drops;
    path.run_until(seconds(9.0));
    let dropped = u32::try_from(path.drops - dropped_before).unwrap();
    let passed = u32::try_from(path.waits(seconds(4.0), seconds(9.0)).len()).unwrap();
    let decisions = path.decisions(0);
    let late: Vec<f64> = decisions
        .iter()
        .filter(|decision| decision.at > seconds(4.0))
        .map(|decision| way.paces(decision) * 0.99)
        .collect();
    let mean = late.iter().sum::<f64>() / f64::from(u32::try_from(late.len()).unwrap());
    let sent = way.gain(f64::from(passed + dropped) / 5.0);
    assert!(f64::from(dropped) > 0.08 * f64::from(passed), "{dropped} of {passed}");
    assert!((0.9..=1.03).contains(&(sent / mean)), "{sent} sent at a rate of {mean}");
}

#[test]
fn gain_cycle_has_eight_phases() {
    let way = way();
    let mut path = Path::greedy(way, 4, bbr1());
    path.run_until(seconds(9.5));
    let decisions = path.decisions(0);
    let late: Vec<Decision> =
        decisions.into_iter().filter(|decision| decision.at > seconds(2.0)).collect();
    let stretches = stretches(&late, |decision| way.hundredths(decision));
    let whole = &stretches[1..stretches.len() - 1];
    assert!(whole.len() > 40, "{whole:?}");
    for (gain, lasted) in whole {
        let trips = lasted.as_secs_f64() / 0.0412;
        let expected = match *gain {
            // Until a quarter more is in flight.
            124..=126 => 0.95..=2.0,
            // At most a round trip, less once the flight equals the pipe.
            74..=76 => 0.1..=1.1,
            99..=101 => 5.9..=6.5,
            other => panic!("a gain of {other} %"),
        };
        assert!(expected.contains(&trips), "{gain} % for {trips} round trips");
    }
    for three in whole.windows(3).filter(|three| three[0].0 > 120) {
        assert!(three[1].0 < 80 && (80..120).contains(&three[2].0), "{three:?}");
    }
}

/// Ten seconds after the minimum round trip, which is that of the handshake or of the first data.
#[test]
fn probe_rtt_uses_four_segments() {
    let mut path = Path::greedy(way(), 5, bbr1());
    path.run_until(seconds(35.0));
    let decisions = path.decisions(0);
    let mut begun = Vec::new();
    for pair in decisions.windows(2) {
        if !probes_rtt(&pair[0]) && probes_rtt(&pair[1]) {
            begun.push(pair[1].at);
        }
    }
    assert_eq!(begun.len(), 3, "{begun:?}");
    for pair in begun.windows(2) {
        let apart = (pair[1] - pair[0]).as_secs_f64();
        assert!((10.0..=10.4).contains(&apart), "{begun:?}");
    }
    for begin in begun {
        let after = |decision: &&Decision| decision.at >= begin && !probes_rtt(decision);
        let over = decisions.iter().find(after).unwrap();
        let lasted = (over.at - begin).as_secs_f64();
        // The flight must drain first, and the last acknowledgment may be a round trip late.
        assert!((0.24..=0.31).contains(&lasted), "{lasted}");
        let window = decisions.iter().rfind(|decision| decision.at < begin).unwrap().window;
        assert!(over.window >= window, "the window is what it was");
    }
}

#[test]
fn one_percent_random_loss_costs_little() {
    let clean = {
        let mut path = Path::greedy(way(), 6, bbr1());
        path.run_until(seconds(60.0));
        path.share(0, seconds(2.0), seconds(60.0))
    };
    let mut path = Path::greedy(PathSettings { loss_per_thousand: 10, ..way() }, 6, bbr1());
    path.run_until(seconds(60.0));
    let share = path.share(0, seconds(2.0), seconds(60.0));
    assert!(path.drops > 500, "{} were lost", path.drops);
    assert!(share > 0.99 * clean, "{share} against {clean}");
}

/// 100 kbit/s of an application after 20 Mbit/s: with fewer rounds in the filter the model would fall.
#[test]
fn application_pause_keeps_the_model() {
    let way = way();
    let mut path = Path::greedy(way, 7, bbr1());
    path.run_until(seconds(3.0));
    path.trickle(0, 10_000);
    path.run_until(seconds(9.0));
    let decisions = path.decisions(0);
    let late = decisions.iter().filter(|decision| decision.at > seconds(6.0));
    let (mut seen, mut limited) = (0, 0);
    for decision in late {
        seen += 1;
        limited += u32::from(decision.is_application_limited);
        let gain = way.paces(decision);
        assert!(gain > 0.74, "{gain} at {}", decision.at);
    }
    assert!(seen > 100 && limited * 10 > seen * 9, "{limited} of {seen} samples are limited");
}

/// Writes every 100 ms on a round trip of 150 ms, a quarter of the rate: there is always something in flight, and
/// every sample is limited by the application, so start-up does not end.
#[test]
fn limited_application_stays_in_startup() {
    let way = PathSettings::new(20_000_000, Span::from_millis(150), 250);
    let mut path = Path::new(way, 11);
    path.add(CongestionAlgorithm::Plugged(bbr1()), Some(62_500));
    path.run_until(seconds(9.0));
    let decisions = path.decisions(0);
    let late: Vec<_> = decisions.iter().filter(|decision| decision.at > seconds(3.0)).collect();
    assert!(late.len() > 200 && late.iter().all(|decision| decision.is_application_limited));
    let gain = way.paces(late[late.len() - 1]);
    assert!(gain > 2.8 * 0.25, "{gain}: the gain of start-up is 2.89");
}

/// A policer of 5 Mbit/s on a link of 20 Mbit/s: once detected, the rate is kept for 48 rounds with little
/// loss.
#[test]
fn policer_is_detected() {
    let policing = Policing { bits_per_second: 5_000_000, bucket_bytes: 100_000 };
    let way = PathSettings { policing: Some(policing), ..way() };
    let mut path = Path::greedy(way, 8, bbr1());
    path.run_until(seconds(30.0));
    let decisions = path.decisions(0);
    let stretches = stretches(&decisions, |decision| decision.rate);
    let (rate, lasted) = stretches.into_iter().max_by_key(|(_, lasted)| *lasted).unwrap();
    let policed = 5_000_000.0 / 8.0 * 1448.0 / 1500.0;
    assert!(
        (0.85..=1.15).contains(&(f64::from(u32::try_from(rate).unwrap()) / policed)),
        "{rate} bytes per second"
    );
    assert!(lasted >= seconds(48.0 * 0.04), "{lasted}");
}

#[test]
fn two_of_them_share_alike() {
    let mut path = Path::greedy(way(), 9, bbr1());
    path.run_until(seconds(3.0));
    path.add(CongestionAlgorithm::Plugged(bbr1()), None);
    path.run_until(seconds(60.0));
    let shares = [0, 1].map(|flow| path.share(flow, seconds(30.0), seconds(60.0)));
    assert!(shares.iter().all(|share| (0.35..=0.65).contains(share)), "{shares:?}");
    assert!(shares[0] + shares[1] > 0.95, "{shares:?}");
}
