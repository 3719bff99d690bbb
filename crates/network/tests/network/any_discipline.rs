//! Random queue disciplines.

use fairwind_network::Qdisc;
use fairwind_qdisc::{
    Cake, CakeAckFilter, CakeIsolation, CakeTins, Choke, Codel, Drr, DrrClass, Dualpi2, Filter, Fq,
    FqCodel, FqPie, Hfsc, HfscClass, Htb, HtbClass, PfifoFast, Pie, Prio, Red, ServiceCurve, Sfq,
    Tbf,
};
use fairwind_units::{BitRate, Ratio, Span};
use proptest::prelude::*;

/// Any discipline that is more than first in, first out, small enough to be full and slow enough to shape.
pub(crate) fn any_discipline() -> impl Strategy<Value = Qdisc> {
    let switches = (any::<bool>(), any::<bool>(), any::<bool>());
    (0_usize..22, 1_u32..12, switches).prop_map(|(which, limit, switches)| {
        let leaf = Qdisc::Pfifo { limit_packets: limit };
        disciplines(limit, switches, &leaf).swap_remove(which)
    })
}

/// One of each discipline.
fn disciplines(limit: u32, switches: (bool, bool, bool), leaf: &Qdisc) -> Vec<Qdisc> {
    let mut all = managed(limit, switches);
    all.extend(fair(limit, switches));
    all.extend(with_classes(switches, leaf));
    all
}

/// Those that drop or mark early, and one of bands.
fn managed(limit: u32, (ecn, one, other): (bool, bool, bool)) -> Vec<Qdisc> {
    let (target, interval) = (Span::from_micros(5), Span::from_micros(50));
    let update = Span::from_micros(100);
    let probability = Ratio::from_parts_per_billion(300_000_000);
    let bandwidth = BitRate::from_bits_per_second(1_000_000);
    vec![
        Qdisc::Red(Red {
            limit_bytes: 6000,
            min_bytes: 500,
            max_bytes: 3000,
            average_packet_bytes: 500,
            burst_packets: 2,
            probability,
            bandwidth,
            ecn,
            hard_drop: one,
            gentle: other,
            adaptive: one,
            child: None,
        }),
        Qdisc::Choke(Choke {
            limit_packets: limit + 7,
            min_packets: 1,
            max_packets: 8,
            burst_packets: 2,
            average_packet_bytes: 500,
            probability,
            bandwidth,
            ecn,
        }),
        Qdisc::Codel(Codel {
            limit_packets: limit,
            target,
            interval,
            ecn,
            ce_threshold: one.then_some(target),
        }),
        Qdisc::Pie(Pie {
            limit_packets: limit,
            target,
            update,
            ecn,
            bytemode: one,
            departure_rate: other,
            ..Pie::default()
        }),
        Qdisc::PfifoFast(PfifoFast { limit_packets: limit }),
        Qdisc::Dualpi2(Dualpi2 {
            limit_packets: limit,
            target,
            update,
            step_threshold: target,
            drop_on_dequeue: one,
            only_ect1: other,
            ..Dualpi2::default()
        }),
    ]
}

/// Those that keep flows apart.
fn fair(limit: u32, (ecn, one, other): (bool, bool, bool)) -> Vec<Qdisc> {
    let (target, interval) = (Span::from_micros(5), Span::from_micros(50));
    let update = Span::from_micros(100);
    vec![
        Qdisc::Sfq(Sfq {
            limit_packets: limit + 1,
            depth_packets: 3,
            divisor: 4,
            perturb: if one { Span::from_millis(1) } else { Span::ZERO },
            head_drop: other,
            ..Sfq::default()
        }),
        Qdisc::Fq(Fq {
            limit_packets: limit,
            flow_limit_packets: 5,
            quantum_bytes: 300,
            initial_quantum_bytes: 700,
            max_rate: one.then(|| BitRate::from_bits_per_second(7_777_777)),
            refill_delay: interval,
            hash_mask: 3,
            low_rate: BitRate::from_bits_per_second(if other { 9_000_000 } else { 0 }),
            ce_threshold: ecn.then_some(target),
            pacing: true,
        }),
        Qdisc::FqCodel(FqCodel {
            limit_packets: limit,
            flows: 4,
            quantum_bytes: 300,
            target,
            interval,
            ecn,
            ..FqCodel::default()
        }),
        Qdisc::FqPie(FqPie {
            limit_packets: limit,
            flows: 4,
            quantum_bytes: 300,
            target,
            update,
            ecn,
            ..FqPie::default()
        }),
        Qdisc::Cake(Cake {
            bandwidth: one.then(|| BitRate::from_bits_per_second(7_777_777)),
            tins: if ecn { CakeTins::Diffserv4 } else { CakeTins::Besteffort },
            isolation: if other { CakeIsolation::TripleIsolate } else { CakeIsolation::Flows },
            rtt: interval,
            overhead_bytes: 7,
            memory_limit_bytes: Some(u64::from(limit) * 700),
            ack_filter: if other { CakeAckFilter::Off } else { CakeAckFilter::Aggressive },
        }),
    ]
}

/// Shapers and schedulers.
fn with_classes((ecn, one, other): (bool, bool, bool), leaf: &Qdisc) -> Vec<Qdisc> {
    let (target, interval) = (Span::from_micros(5), Span::from_micros(50));
    let thin = Filter { protocol: Some(6), ..Filter::default() };
    let rate = BitRate::from_bits_per_second(7_777_777);
    let tbf = Tbf {
        rate,
        burst_bytes: 1600,
        limit_bytes: 6000,
        peak_rate: one.then(|| BitRate::from_bits_per_second(20_000_000)),
        mtu_bytes: None,
        granularity: if other { Span::from_millis(1) } else { Span::ZERO },
        child: None,
    };
    let few = FqCodel { limit_packets: 3, target, interval, ..FqCodel::default() };
    let class = |filters| DrrClass { quantum_bytes: 300, filters, child: leaf.clone() };
    vec![
        Qdisc::Drr(Drr { classes: vec![class(vec![thin]), class(Vec::new())] }),
        Qdisc::Prio(Prio { bands: vec![leaf.clone(); 3], ..Prio::default() }),
        Qdisc::Tbf(tbf.clone()),
        Qdisc::Tbf(Tbf {
            child: Some(Box::new(Qdisc::FqCodel(FqCodel {
                target,
                interval,
                ..FqCodel::default()
            }))),
            ..tbf.clone()
        }),
        Qdisc::Prio(Prio {
            bands: vec![Qdisc::Tbf(tbf.clone()), leaf.clone()],
            priomap: [0; 16],
            filters: vec![(Filter { dscp: Some(0), ..Filter::default() }, u8::from(ecn))],
        }),
        Qdisc::Htb(htb(leaf, other)),
        Qdisc::Htb(Htb { default_class: None, ..htb(leaf, other) }),
        Qdisc::Htb(htb(&Qdisc::Tbf(tbf), false)),
        Qdisc::Hfsc(hfsc(leaf, one)),
        Qdisc::Hfsc(Hfsc { default_class: None, ..hfsc(leaf, one) }),
        Qdisc::Hfsc(hfsc(&Qdisc::FqCodel(few), one)),
    ]
}

/// A class above two, one of which takes what can be marked and has real-time service.
fn hfsc(leaf: &Qdisc, is_limited: bool) -> Hfsc {
    let line = |rate| Some(ServiceCurve::linear(BitRate::from_bits_per_second(rate)));
    let class = |parent, rate, child| HfscClass {
        name: String::new(),
        parent,
        real_time: None,
        link_sharing: line(rate),
        upper_limit: None,
        filters: Vec::new(),
        child,
    };
    let fast = ServiceCurve::for_delay(1500, Span::from_millis(3), rate_of_thin());
    let thin = HfscClass {
        real_time: Some(fast),
        filters: vec![Filter { protocol: Some(6), ..Filter::default() }],
        ..class(Some(0), 1_000_000, Some(leaf.clone()))
    };
    let whole = class(None, 8_000_000, None);
    let upper_limit = if is_limited { line(7_777_777) } else { None };
    Hfsc {
        classes: vec![
            HfscClass { upper_limit, ..whole },
            thin,
            class(Some(0), 7_000_000, Some(leaf.clone())),
        ],
        default_class: Some(2),
    }
}

fn rate_of_thin() -> BitRate {
    BitRate::from_bits_per_second(1_000_000)
}

/// A class above two, one of which takes what can be marked.
fn htb(leaf: &Qdisc, is_coarse: bool) -> Htb {
    let class = |parent, rate, child| HtbClass {
        name: String::new(),
        parent,
        rate: BitRate::from_bits_per_second(rate),
        ceil: BitRate::from_bits_per_second(8_000_000),
        burst_bytes: 1600,
        ceil_burst_bytes: 1600,
        priority: 0,
        quantum_bytes: 300,
        filters: Vec::new(),
        child,
    };
    let thin = Filter { protocol: Some(6), ..Filter::default() };
    Htb {
        classes: vec![
            class(None, 8_000_000, None),
            HtbClass { filters: vec![thin], ..class(Some(0), 1_000_000, Some(leaf.clone())) },
            class(Some(0), 7_000_000, Some(leaf.clone())),
        ],
        default_class: Some(2),
        rate_to_quantum: 10,
        direct_packets: 10,
        granularity: if is_coarse { Span::from_millis(1) } else { Span::ZERO },
    }
}
