//! Lost segments and transmit snapshots, as a congestion control sees them.

use crate::pair::{End, Fate, Pair};
use fairwind_tcp::{
    Config, CongestionAlgorithm, CongestionControl, ControlFactory, Hooks, LostSegment,
    PluggedAlgorithm, Profile, RateSample, TcpSock, TransmitSnapshot,
};
use fairwind_units::Span;
use std::sync::{Arc, Mutex};

#[derive(Debug, Default, Clone)]
struct Told {
    lost: Vec<LostSegment>,
    sampled: Vec<TransmitSnapshot>,
}

type Log = Arc<Mutex<Told>>;

/// Keeps a window of ten, and records its calls.
#[derive(Debug, Clone)]
struct Listener(Log);

impl CongestionControl for Listener {
    fn hooks(&self) -> Hooks {
        Hooks::CONG_CONTROL.and(Hooks::SEGMENTS)
    }

    fn ssthresh(&mut self, sender: &mut TcpSock) -> u32 {
        sender.threshold
    }

    fn segment_lost(&mut self, _: &mut TcpSock, lost: &LostSegment) {
        self.0.lock().unwrap().lost.push(*lost);
    }

    fn segment_sampled(&mut self, at_sending: &TransmitSnapshot) {
        self.0.lock().unwrap().sampled.push(*at_sending);
    }

    fn cong_control(&mut self, sender: &mut TcpSock, _: u32, _: i32, _: &RateSample) {
        sender.window = 10;
    }
}

impl ControlFactory for Listener {
    fn name(&self) -> &'static str {
        "listener"
    }

    fn create(&self) -> Box<dyn CongestionControl> {
        Box::new(self.clone())
    }
}

/// Ten segments leave together, the second and the fifth are lost: both left with ten in flight, no losses, and
/// application-limited. The first retransmission leaves after one of ten is delivered and two are lost.
#[test]
fn lost_segments_have_transmit_snapshots() {
    let log = Log::default();
    let algorithm = PluggedAlgorithm(Arc::new(Listener(log.clone())));
    let plain = Profile::Linux6_18.config();
    let congestion = CongestionAlgorithm::Plugged(algorithm);
    let mut pair = Pair::established(Config { congestion, ..plain.clone() }, plain);
    pair.judged_by(|from, number, _| match (from, number) {
        (End::Client, 1 | 4) => Fate::Drop,
        _ => Fate::Deliver,
    });
    pair.write(End::Client, 10 * 1448);
    let until = pair.now + Span::from_secs(2);
    pair.run_until(until);
    assert_eq!(pair.read_bytes(End::Server), 10 * 1448);
    let told = log.lock().unwrap().clone();
    let first = TransmitSnapshot { flight: 10, losses: 0, is_application_limited: true };
    let begins: Vec<u32> = told.lost.iter().map(|lost| (lost.begin - 1001) / 1448).collect();
    assert_eq!(begins, [1, 4]);
    for (lost, count) in told.lost.iter().zip([1, 2]) {
        assert_eq!((lost.end - lost.begin, lost.losses), (1448, count));
        assert_eq!(lost.at_sending, first);
    }
    assert_eq!(told.sampled[0].flight, 10);
    let last = told.sampled.last().unwrap();
    assert_eq!(last.losses, 2, "the repairs left after both were lost: {told:?}");
}
