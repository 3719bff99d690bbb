//! Queues against closed forms.

use crate::support::{Numbered, single_link};
use fairwind_network::{LinkId, LinkSpec, Network, Observer, Qdisc};
use fairwind_qdisc::Tbf;
use fairwind_units::{BitRate, Instant, Span};
use rand_distr::{Distribution, Exp};
use rand_pcg::Pcg64;

/// Sums up waiting times.
#[derive(Default)]
struct Waits {
    packets: u32,
    seconds: f64,
}

impl Observer<Numbered> for Waits {
    fn on_dequeue(&mut self, _: Instant, _: LinkId, _: &Numbered, sojourn: Span) {
        self.packets += 1;
        self.seconds += sojourn.as_secs_f64();
    }
}

/// A link that takes 1 ms for a packet, and a token bucket of one packet that fills in 1 ms.
fn servers() -> [LinkSpec; 2] {
    let rate = BitRate::from_bits_per_second(12_000_000);
    let tbf = Tbf {
        rate,
        burst_bytes: 1500,
        limit_bytes: u64::MAX,
        peak_rate: None,
        mtu_bytes: None,
        granularity: Span::ZERO,
        child: None,
    };
    [
        LinkSpec { rate: Some(rate), ..LinkSpec::default() },
        LinkSpec { queue: Qdisc::Tbf(tbf), ..LinkSpec::default() },
    ]
}

/// Mean wait of 1 million Poisson arrivals at `load` before a server that takes 1 ms each.
fn mean_wait_in_seconds(spec: LinkSpec, load: f64, seed: u64) -> f64 {
    let (topology, sender, receiver, _) = single_link(spec);
    let mut network: Network<Numbered> = topology.build(0).expect("a sound topology");
    let gaps = Exp::new(load * 1000.0).expect("a positive rate");
    let mut generator = Pcg64::new(u128::from(seed), 1);
    let (mut at, mut waits) = (Instant::ZERO, Waits::default());
    for number in 0..1_000_000 {
        at += Span::from_secs_f64(gaps.sample(&mut generator));
        let packet = Numbered { number, bytes: 1500, to: receiver };
        network.inject(at, sender, packet, &mut waits);
        while network.next_delivery(at, &mut waits).is_some() {}
    }
    network.advance_to(Instant::MAX, &mut waits);
    waits.seconds / f64::from(waits.packets)
}

#[test]
fn poisson_mean_wait_matches_m_d_1() {
    for (load, seed) in [(0.3, 1), (0.5, 2), (0.8, 3)] {
        // Pollaczek and Khinchine for constant service: load * service / (2 * (1 - load)).
        let expected = load * 0.001 / (2.0 * (1.0 - load));
        // A million arrivals at load 0.8 leave a standard error of about 0.5 %.
        for spec in servers() {
            let mean = mean_wait_in_seconds(spec, load, seed);
            assert!(
                (mean / expected - 1.0).abs() < 0.02,
                "load {load}: {mean} s, not {expected} s"
            );
        }
    }
}
