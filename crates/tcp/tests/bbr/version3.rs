//! BBR version 3: draft-ietf-ccwg-bbr-06.

use crate::path::{Path, PathSettings};
use crate::recorder::{Decision, rounds, stretches};
use fairwind_tcp::{CongestionAlgorithm, bbr1, bbr3};
use fairwind_units::Span;

fn seconds(seconds: f64) -> Span {
    Span::from_secs_f64(seconds)
}

/// 20 Mbit/s and 40 ms, which is 67 segments, and a much longer queue.
fn way() -> PathSettings {
    PathSettings::new(20_000_000, Span::from_millis(40), 1_000)
}

/// Half of the product of 67 segments, plus the last acknowledgment.
fn probes_rtt(decision: &Decision) -> bool {
    decision.window <= 40
}

/// Runs of one gain each, in hundredths, from two seconds to `until`; the first and the last may be cut.
fn gains(way: &PathSettings, decisions: &[Decision], until: f64) -> Vec<(u64, Span)> {
    let within = |decision: &&Decision| (seconds(2.0)..seconds(until)).contains(&decision.at);
    let late: Vec<Decision> = decisions.iter().filter(within).copied().collect();
    // Probing for the round trip counts as gain zero.
    let gain =
        |decision: &Decision| if probes_rtt(decision) { 0 } else { way.hundredths(decision) };
    let stretches = stretches(&late, gain);
    stretches[1..stretches.len() - 1].to_vec()
}

/// Rounds from the first sample of the full bandwidth to the drain, and the gain of that.
fn rounds_of_full_start_up(way: &PathSettings, path: &Path) -> (u32, u64) {
    let decisions = path.decisions(0);
    let full = decisions.iter().position(|decision| way.gain(decision.sampled) > 0.8).unwrap();
    let drains = decisions[full..].iter().position(|decision| way.hundredths(decision) < 60);
    let drains = full + drains.unwrap();
    (rounds(&decisions[full..=drains]), way.hundredths(&decisions[drains]))
}

/// §5.3.1.2, §5.3.2.
#[test]
fn startup_drains_at_half_rate() {
    let way = way();
    let mut path = Path::greedy(way, 1, bbr3());
    path.run_until(seconds(2.0));
    let fastest = path.decisions(0).iter().map(|decision| way.hundredths(decision)).max();
    assert!((275..=279).contains(&fastest.unwrap()), "{fastest:?}");
    let (passed, gain) = rounds_of_full_start_up(&way, &path);
    assert!((3..=4).contains(&passed), "{passed} rounds");
    assert_eq!(gain, 50);
}

/// §5.3.1.3: a queue of a third of the pipe overflows early, and the round of recovery that shows it is the
/// last.
#[test]
fn startup_ends_by_losses() {
    let way = PathSettings { room: 20, ..way() };
    let mut path = Path::greedy(way, 2, bbr3());
    path.run_until(seconds(2.0));
    let (passed, gain) = rounds_of_full_start_up(&way, &path);
    assert!(passed < 3, "{passed} rounds");
    assert_eq!(gain, 50);
}

/// §5.3.3: 0.9, then 1 for cruise and refill, then 5/4. The pipe holds more than the 63 rounds of Reno, which
/// are 2.6 s; by the clock it is two to three seconds from down to refill.
#[test]
fn bandwidth_cycle_takes_two_to_three_seconds() {
    let way = way();
    let mut path = Path::greedy(way, 3, bbr3());
    path.run_until(seconds(60.0));
    let gains = gains(&way, &path.decisions(0), 60.0);
    let ups: Vec<usize> = (1..gains.len() - 1).filter(|&place| gains[place].0 == 125).collect();
    assert!(ups.len() >= 8, "{gains:?}");
    for up in ups {
        assert_eq!(gains[up - 1].0, 100, "{gains:?}");
        // Three rounds without growth, each longer than the one before, unless round-trip probing
        // interrupts them.
        if gains[up + 1].0 > 0 {
            assert_eq!(gains[up + 1].0, 90, "{gains:?}");
            assert!((seconds(0.12)..seconds(0.24)).contains(&gains[up].1), "{}", gains[up].1);
        }
        // The wait begins with down, and again after probing for the round trip.
        let before = gains[..up].iter().rev().take_while(|(gain, _)| [90, 100].contains(gain));
        let waited: Span = before.map(|(_, lasted)| *lasted).sum();
        assert!((seconds(2.0)..seconds(3.2)).contains(&waited), "{waited}");
    }
}

/// §5.3.3.8: a product of 8 segments is 8 rounds; the initial round of the count may be random.
#[test]
fn small_pipe_is_probed_like_reno() {
    let way = PathSettings::new(5_000_000, Span::from_millis(20), 1_000);
    let mut path = Path::greedy(way, 4, bbr3());
    path.run_until(seconds(20.0));
    let stretches = stretches(&path.decisions(0), |decision| way.hundredths(decision));
    let within = |at: &mut Span, lasted: Span| {
        *at += lasted;
        (seconds(2.0)..seconds(4.5)).contains(at)
    };
    let gains: Vec<(u64, Span)> = stretches
        .into_iter()
        .scan(Span::ZERO, |at, (gain, lasted)| Some((within(at, lasted), gain, lasted)))
        .filter_map(|(is_within, gain, lasted)| is_within.then_some((gain, lasted)))
        .collect();
    let rests: Vec<Span> = gains
        .split(|(gain, _)| *gain > 115)
        .map(|rest| rest.iter().map(|(_, lasted)| *lasted).sum())
        .collect();
    assert!(rests.len() > 5, "{rests:?}");
    for rest in &rests[1..rests.len() - 1] {
        assert!((seconds(0.16)..seconds(0.36)).contains(rest), "{rest}");
    }
}

/// §5.3.4.
#[test]
fn probe_rtt_halves_the_flight() {
    let mut path = Path::greedy(way(), 5, bbr3());
    path.run_until(seconds(21.0));
    let decisions: Vec<Decision> =
        path.decisions(0).into_iter().filter(|decision| decision.at > seconds(1.0)).collect();
    let mut at = decisions[0].at;
    let mut looked = Vec::new();
    for (is_looking, lasted) in stretches(&decisions, probes_rtt) {
        if is_looking {
            looked.push((at, lasted));
        }
        at += lasted;
    }
    assert_eq!(looked.len(), 4, "{looked:?}");
    for pair in looked.windows(2) {
        assert!((seconds(4.9)..seconds(5.6)).contains(&(pair[1].0 - pair[0].0)), "{looked:?}");
    }
    for (_, lasted) in looked {
        assert!((seconds(0.2)..seconds(0.31)).contains(&lasted), "{lasted}");
    }
}

#[test]
fn single_flow_fills_link_except_probe_rtt() {
    let mut path = Path::greedy(way(), 6, bbr3());
    path.run_until(seconds(30.0));
    let share = path.share(0, seconds(2.0), seconds(30.0));
    // A per cent of margin, and a tenth of a second's worth in five.
    assert!((0.96..=0.99).contains(&share), "{share}");
    let waits = path.waits(seconds(2.0), seconds(30.0));
    assert!(waits[waits.len() / 2] <= seconds(0.0025), "{}", waits[waits.len() / 2]);
    assert_eq!(path.drops, 0);
}

/// Rate and flight follow delivery; 5 % exceeds the tolerated loss.
#[test]
fn one_percent_loss_is_tolerated_not_five() {
    let share = |loss_per_thousand| {
        let mut path = Path::greedy(PathSettings { loss_per_thousand, ..way() }, 7, bbr3());
        path.run_until(seconds(60.0));
        path.share(0, seconds(2.0), seconds(60.0))
    };
    let (some, many) = (share(10), share(50));
    assert!(some > 0.7, "{some}");
    assert!(many < 0.5 * some, "{many}");
}

/// §5.5.10.2, §5.3.3.1: losses leave 67 segments of the pipe and 20 of the queue; cruise leaves 15 % headroom.
#[test]
fn probing_losses_bound_the_flight() {
    let way = PathSettings { room: 20, ..way() };
    let mut path = Path::greedy(way, 8, bbr3());
    path.run_until(seconds(30.0));
    let decisions = path.decisions(0);
    let late = decisions.iter().filter(|decision| decision.at > seconds(4.0));
    let cruising = late.filter(|decision| way.hundredths(decision) == 100);
    let mut windows: Vec<u32> = cruising.map(|decision| decision.window).collect();
    windows.sort_unstable();
    // The segment on the wire counts as one more; refill uses all of the bound.
    let (usual, widest) = (windows[windows.len() / 2], windows[windows.len() - 1]);
    assert!((70..=88 - 88 * 15 / 100).contains(&usual), "{usual}");
    assert!((80..=90).contains(&widest), "{widest}");
}

/// The queue holds a third of the pipe: version 1 overflows it in every probe, which is every eighth round.
#[test]
fn probing_loses_less_than_version_1_does() {
    let way = PathSettings { room: 20, ..way() };
    let [older, newer] = [bbr1(), bbr3()].map(|algorithm| {
        let mut path = Path::greedy(way, 8, algorithm);
        path.run_until(seconds(4.0));
        let before = path.drops;
        path.run_until(seconds(30.0));
        path.drops - before
    });
    assert!(newer * 5 < older, "{newer} lost, of version 1 {older}");
}

/// §5.3.3.8: with a queue of one product, little is left for Reno beside version 1.
#[test]
fn reno_keeps_a_share_beside_it() {
    let way = PathSettings { room: 67, ..way() };
    let [older, newer] = [bbr1(), bbr3()].map(|algorithm| {
        let mut path = Path::greedy(way, 9, algorithm);
        path.add(CongestionAlgorithm::Reno, None);
        path.run_until(seconds(120.0));
        path.share(1, seconds(30.0), seconds(120.0))
    });
    assert!(newer > 0.2 && newer > 2.0 * older, "{newer} beside it, {older} beside version 1");
}

#[test]
fn two_of_them_share_alike() {
    let mut path = Path::greedy(way(), 10, bbr3());
    path.run_until(seconds(3.0));
    path.add(CongestionAlgorithm::Plugged(bbr3()), None);
    path.run_until(seconds(120.0));
    let shares = [0, 1].map(|flow| path.share(flow, seconds(60.0), seconds(120.0)));
    assert!(shares.iter().all(|share| (0.35..=0.65).contains(share)), "{shares:?}");
}
