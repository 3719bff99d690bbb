//! The syntax of `tc`: what people write, what is wrong with it, and that what is printed is read back.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use fairwind_qdisc::tc::{commands, kernel_commands, parse};
use fairwind_qdisc::{
    Cake, CakeAckFilter, CakeIsolation, CakeTins, Choke, Codel, Drr, DrrClass, Dualpi2, Filter, Fq,
    FqCodel, FqPie, Hfsc, HfscClass, Htb, HtbClass, PfifoFast, Pie, Prio, Qdisc, Red, ServiceCurve,
    Sfq, Tbf,
};
use fairwind_units::{BitRate, Ratio, Span};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;

const LINK: BitRate = BitRate::from_bits_per_second(10_000_000);

fn read(text: &str) -> Qdisc {
    parse(text, LINK).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn refused(text: &str, expected: &str) {
    let error = parse(text, LINK).expect_err(text).to_string();
    assert!(error.starts_with(expected), "expected {expected}\nfound    {error}");
}

fn pfifo(limit_packets: u32) -> Qdisc {
    Qdisc::Pfifo { limit_packets }
}

fn megabits(number: u64) -> BitRate {
    BitRate::from_bits_per_second(number * 1_000_000)
}

fn class(name: &str, rate: BitRate) -> HtbClass {
    HtbClass::new(name, rate, 10)
}

#[test]
fn fq_ignores_what_routers_have_not() {
    let text = "fq maxrate 2mbit quantum 3000 nopacing horizon 2s horizon_cap buckets 512 refill_delay 5ms";
    let expected = Qdisc::Fq(Fq {
        max_rate: Some(megabits(2)),
        quantum_bytes: 3000,
        pacing: false,
        refill_delay: Span::from_millis(5),
        ..Fq::default()
    });
    assert_eq!(read(text), expected);
    refused("fq horizon", "column 4: after this word its value is missing");
}

#[test]
fn kernel_has_bands_as_long_as_its_device() {
    let queue = Qdisc::PfifoFast(PfifoFast { limit_packets: 60 });
    assert_eq!(
        kernel_commands(&queue, "eth0", "parent 1:1", 16),
        [
            "ip link set dev eth0 txqueuelen 60",
            "tc qdisc replace dev eth0 parent 1:1 handle 10: pfifo_fast",
        ]
    );
}

#[test]
fn thesis_bottleneck_is_parsed() {
    let leaf = HtbClass { burst_bytes: 1520, child: Some(pfifo(63)), ..class("1:1", megabits(5)) };
    let htb = Htb { classes: vec![leaf], default_class: Some(0), ..Htb::default() };
    assert_eq!(read("htb rate 5mbit burst 1520 / pfifo limit 63"), Qdisc::Htb(htb));
}

#[test]
fn curves_of_hfsc_are_read_as_tc_reads_them() {
    let chain = read(
        "hfsc default 20 / class 1:1 ls rate 5mbit ul m2 5mbit \
         / class 1:10 parent 1:1 sc umax 1500b dmax 20ms rate 400kbit match group thin \
         / class 1:20 parent 1:1 ls m1 1mbit d 50ms m2 4mbit / fq_codel",
    );
    let line = ServiceCurve::linear(megabits(5));
    let kilobits = |rate: u64| BitRate::from_bits_per_second(rate * 1000);
    // 12 000 bits in 20 ms are 600 kbit/s.
    let fast = ServiceCurve { m1: kilobits(600), d: Span::from_millis(20), m2: kilobits(400) };
    let shared = ServiceCurve { m1: megabits(1), d: Span::from_millis(50), m2: megabits(4) };
    let class = |name: &str, parent, link_sharing| HfscClass {
        name: name.to_owned(),
        parent,
        real_time: None,
        link_sharing: Some(link_sharing),
        upper_limit: None,
        filters: Vec::new(),
        child: None,
    };
    let thin = Filter { group: Some("thin".to_owned()), ..Filter::default() };
    let classes = vec![
        HfscClass { upper_limit: Some(line), ..class("1:1", None, line) },
        HfscClass {
            real_time: Some(fast),
            filters: vec![thin],
            child: Some(pfifo(1000)),
            ..class("1:10", Some(0), fast)
        },
        HfscClass { child: Some(read("fq_codel")), ..class("1:20", Some(0), shared) },
    ];
    assert_eq!(chain, Qdisc::Hfsc(Hfsc { classes, default_class: Some(2) }));
    assert_eq!(
        commands(&chain, "eth0")[1..4],
        [
            "tc class replace dev eth0 parent 1: classid 1:1 hfsc ls m2 5mbit ul m2 5mbit",
            "tc class replace dev eth0 parent 1:1 classid 1:10 hfsc rt m1 600kbit d 20ms m2 400kbit \
             ls m1 600kbit d 20ms m2 400kbit",
            "tc class replace dev eth0 parent 1:1 classid 1:20 hfsc ls m1 1mbit d 50ms m2 4mbit",
        ]
    );
}

#[test]
fn delay_longer_than_the_rate_needs_is_a_pause() {
    // 1500 bytes take 12 ms at 1 Mbit/s: within 20 ms they may begin 8 ms late.
    let late = ServiceCurve::for_delay(1500, Span::from_millis(20), megabits(1));
    let m1 = BitRate::default();
    assert_eq!(late, ServiceCurve { m1, d: Span::from_millis(8), m2: megabits(1) });
    assert_eq!(ServiceCurve::for_delay(0, Span::ZERO, megabits(1)).d, Span::ZERO);
    // Bytes per second are rounded up, as there.
    let fast = ServiceCurve::for_delay(160, Span::from_micros(1500), BitRate::default());
    assert_eq!(fast.m1, BitRate::from_bits_per_second(106_667 * 8));
    refused("hfsc ls umax 1500b rate 1mbit", "column 6: the curve: umax needs dmax");
    refused("hfsc / class 1:1 ul rate 1mbit", "column 26: a class of hfsc needs rt, ls or sc");
    refused("hfsc / class 1:1 ls m1 1mbit d 5ms", "column 18: the curve: it needs m2, or rate");
    refused(
        "hfsc / class 1:1 rate 1mbit",
        "column 18: \"rate\" is not a parameter of a class of hfsc",
    );
}

#[test]
fn names_alone_have_the_defaults_of_tc() {
    assert_eq!(read("pfifo"), pfifo(1000));
    assert_eq!(read("bfifo"), Qdisc::Bfifo { limit_bytes: 1_514_000 });
    assert_eq!(read("codel"), Qdisc::Codel(Codel::default()));
    assert_eq!(read("pie"), Qdisc::Pie(Pie::default()));
    assert_eq!(read("fq_codel"), Qdisc::FqCodel(FqCodel::default()));
    assert_eq!(read("cake"), Qdisc::Cake(Cake::default()));
    assert_eq!(read("prio"), Qdisc::Prio(Prio::default()));
}

#[test]
fn units_are_those_of_tc() {
    let tbf = |text: &str| match read(text) {
        Qdisc::Tbf(tbf) => (tbf.rate.as_bits_per_second(), tbf.burst_bytes, tbf.limit_bytes),
        other => panic!("{other:?}"),
    };
    assert_eq!(tbf("tbf rate 1mbit burst 2k limit 64kb"), (1_000_000, 2048, 65_536));
    assert_eq!(tbf("tbf rate 125kbps burst 1kbit limit 3000b"), (1_000_000, 128, 3000));
    assert_eq!(tbf("tbf rate 1.5Mbit burst 1500/8 limit 1m"), (1_500_000, 1500, 1 << 20));
    assert_eq!(tbf("tbf rate 64000 burst 1600 limit 1gb"), (64_000, 1600, 1 << 30));
    // 1 Mbit/s x 48 ms = 6000 B, and the burst.
    assert_eq!(tbf("tbf rate 1mbit burst 2000 latency 48ms").2, 8000);
    let target = |text: &str| match read(text) {
        Qdisc::Codel(codel) => codel.target,
        other => panic!("{other:?}"),
    };
    assert_eq!(target("codel target 5ms"), Span::from_millis(5));
    assert_eq!(target("codel target 5000"), Span::from_millis(5));
    assert_eq!(target("codel target 0.005s"), Span::from_millis(5));
    assert_eq!(target("codel target 5000usecs"), Span::from_millis(5));
}

#[test]
fn each_part_goes_to_deepest_open_place() {
    let Qdisc::Prio(prio) =
        read("prio / pfifo limit 20 / tbf rate 1mbit burst 2k limit 9k / sfq / fq_codel")
    else {
        panic!("it is a prio")
    };
    assert_eq!(prio.bands[0], pfifo(20));
    let Qdisc::Tbf(Tbf { child: Some(child), .. }) = &prio.bands[1] else { panic!("it is a tbf") };
    assert_eq!(**child, Qdisc::Sfq(Sfq::default()));
    assert_eq!(prio.bands[2], Qdisc::FqCodel(FqCodel::default()));
}

#[test]
fn classes_and_filters_may_stand_in_a_chain() {
    let chain = read(
        "htb default 20 / class 1:10 rate 4mbit ceil 5mbit match group thin match ip dport 443 0xffff \
         / fq_codel / class 1:20 rate 1mbit prio 3 / pfifo limit 9 / filter match group web flowid 1:10",
    );
    let filters = vec![
        Filter { group: Some("thin".into()), destination_port: Some(443), ..Filter::default() },
        Filter { group: Some("web".into()), ..Filter::default() },
    ];
    let fair = Some(Qdisc::FqCodel(FqCodel::default()));
    let classes = vec![
        HtbClass { ceil: megabits(5), filters, child: fair, ..class("1:10", megabits(4)) },
        HtbClass { priority: 3, child: Some(pfifo(9)), ..class("1:20", megabits(1)) },
    ];
    assert_eq!(chain, Qdisc::Htb(Htb { classes, default_class: Some(1), ..Htb::default() }));
}

#[test]
fn commands_are_read_as_one_would_type_them() {
    let tree = read(
        "tc qdisc add dev eth0 root handle 1: htb default 20   # the link
         tc class add dev eth0 parent 1: classid 1:1 htb rate 5mbit
         tc class add dev eth0 parent 1:1 classid 1:10 htb rate 4mbit ceil 5mbit quantum 1514
         tc class add dev eth0 parent 1:1 classid 1:20 htb rate 1mbit; tc qdisc add dev eth0 parent 1:20 sfq
         tc filter add dev eth0 parent 1: protocol ip prio 2 u32 match ip dsfield 0xb8 0xfc flowid 1:10
         tc filter add dev eth0 parent 1: protocol ip prio 1 flower ip_proto udp dst_port 53 classid 1:10",
    );
    let filters = vec![
        Filter { protocol: Some(17), destination_port: Some(53), ..Filter::default() },
        Filter { dscp: Some(46), ..Filter::default() },
    ];
    let below = |name, rate| HtbClass { parent: Some(0), ..class(name, rate) };
    let classes = vec![
        HtbClass { child: None, ..class("1:1", megabits(5)) },
        HtbClass { ceil: megabits(5), quantum_bytes: 1514, filters, ..below("1:10", megabits(4)) },
        HtbClass { child: Some(Qdisc::Sfq(Sfq::default())), ..below("1:20", megabits(1)) },
    ];
    assert_eq!(tree, Qdisc::Htb(Htb { classes, default_class: Some(2), ..Htb::default() }));
}

#[test]
fn printed_commands_match_typed_ones() {
    let queue = read("htb rate 5mbit burst 1520 / pfifo limit 63");
    assert_eq!(
        commands(&queue, "eth0"),
        [
            "tc qdisc replace dev eth0 root handle 1: htb default 1 r2q 10 direct_qlen 1000",
            "tc class replace dev eth0 parent 1: classid 1:1 htb rate 5mbit ceil 5mbit burst 1520 cburst 1600 \
             prio 0 quantum 62500",
            "tc qdisc replace dev eth0 parent 1:1 handle 2: pfifo limit 63",
        ]
    );
}

#[test]
fn syntax_errors_have_position() {
    refused("", "column 1: a queue discipline or a class is missing here");
    refused(
        "fq_coddle",
        "column 1: \"fq_coddle\" is not a queue discipline; did you mean \"fq_codel\"?",
    );
    refused("pfifo limit", "column 7: after this word a whole number is missing");
    refused("pfifo limit many", "column 13: \"many\" is not a whole number");
    refused(
        "codel target 5 lightyears",
        "column 16: \"lightyears\" is not a parameter of codel; known are limit",
    );
    refused(
        "codel taget 5ms",
        "column 7: \"taget\" is not a parameter of codel; did you mean \"target\"?",
    );
    refused(
        "codel target 5parsec",
        "column 14: \"parsec\" is not a unit of a time; known are s, sec, secs, ms",
    );
    refused(
        "tbf rate 5mbits burst 1k limit 1k",
        "column 10: \"mbits\" is not a unit of a rate; known are bit, kbit",
    );
    refused("tbf rate 5mbit limit 1k", "column 1: tbf needs a rate and a burst");
    refused("tbf rate 5mbit burst 1k", "column 1: tbf needs a limit or a latency");
    refused("red", "column 1: red needs a limit in bytes");
    refused("htb ceil 5mbit", "column 10: a class of htb needs a rate");
    refused("pfifo / pfifo", "column 9: pfifo does not fit here");
    refused("pfifo / ", "column 7: a queue discipline or a class is missing here");
    refused("sfq / class 1:1 rate 1mbit", "column 7: a class belongs to an htb, drr or hfsc");
    refused(
        "htb default 30 / class 1:10 rate 1mbit",
        "column 13: the default class 1:30 does not exist",
    );
    refused(
        "htb / class 1:10 rate 1mbit / class 1:10 rate 1mbit",
        "column 13: there are two classes 1:10",
    );
    refused("htb / class 1:2 parent 1:1 rate 1mbit", "column 13: its parent 1:1 is not a class");
    refused(
        "htb / class 1:1 rate 1mbit / filter match group thin flowid 1:7",
        "column 30: the filter leads to 1:7: there is no class 1:7",
    );
    refused("netem delay 50ms", "column 1: netem is not a queue but an impairment");
    refused(
        "tc qdisc add dev eth0 root handle 1: htb\ntc class add dev eth0 parent 2: classid 2:1 htb rate 1mbit",
        "line 2, column 41: no discipline 2: has classes of this kind",
    );
    refused("tc qdisc add dev eth0 parent 1:1 pfifo", "column 1: the root has no discipline");
    refused(
        "tc qdisc add dev eth0 root pfifo; tc qdisc add dev eth0 root sfq",
        "column 62: the root has a discipline already",
    );
}

fn time() -> impl Strategy<Value = Span> {
    prop_oneof![
        (0..100_000_u64).prop_map(Span::from_micros),
        any::<u64>().prop_map(Span::from_nanos)
    ]
}

fn rate() -> impl Strategy<Value = BitRate> {
    let bits = prop_oneof![1..=u64::MAX, (1..10_000_u64).prop_map(|kilobits| kilobits * 1000)];
    bits.prop_map(BitRate::from_bits_per_second)
}

fn share() -> impl Strategy<Value = Ratio> {
    (0..10_000_000_000_u64).prop_map(Ratio::from_parts_per_billion)
}

prop_compose! {
    fn filter()(
        group in of("[A-Za-z][A-Za-z0-9_-]{0,8}"),
        source_port in of(any::<u16>()),
        destination_port in of(any::<u16>()),
        dscp in of(0..64_u8),
        protocol in of(any::<u8>()),
    ) -> Filter {
        Filter { group, source_port, destination_port, dscp, protocol }
    }
}

prop_compose! {
    fn red()(
        limits in [1..=u64::MAX, 1..=u64::MAX, 1..=u64::MAX],
        (average_packet_bytes, burst_packets) in (any::<u32>(), 1..=u32::MAX),
        probability in share(),
        bandwidth in rate(),
        [ecn, hard_drop, gentle, adaptive] in any::<[bool; 4]>(),
    ) -> Red {
        let [limit_bytes, min_bytes, max_bytes] = limits;
        Red {
            limit_bytes, min_bytes, max_bytes, average_packet_bytes, burst_packets, probability,
            bandwidth, ecn, hard_drop, gentle, adaptive, child: None,
        }
    }
}

fn early() -> BoxedStrategy<Qdisc> {
    let choke = (
        any::<[bool; 1]>(),
        [1..=u32::MAX, 1..=u32::MAX, 1..=u32::MAX, 1..=u32::MAX],
        any::<u32>(),
        share(),
        rate(),
    );
    let choke = choke.prop_map(|([ecn], packets, average_packet_bytes, probability, bandwidth)| {
        let [limit_packets, min_packets, max_packets, burst_packets] = packets;
        Qdisc::Choke(Choke {
            limit_packets,
            min_packets,
            max_packets,
            burst_packets,
            average_packet_bytes,
            probability,
            bandwidth,
            ecn,
        })
    });
    let codel = (any::<u32>(), time(), time(), any::<bool>(), of(time()));
    let codel = codel.prop_map(|(limit_packets, target, interval, ecn, ce_threshold)| {
        Qdisc::Codel(Codel { limit_packets, target, interval, ecn, ce_threshold })
    });
    let pie = (any::<u32>(), time(), time(), any::<[u32; 2]>(), any::<[bool; 3]>());
    let pie = pie.prop_map(|(limit_packets, target, update, [alpha, beta], flags)| {
        let [ecn, bytemode, departure_rate] = flags;
        Qdisc::Pie(Pie {
            limit_packets,
            target,
            update,
            alpha,
            beta,
            ecn,
            bytemode,
            departure_rate,
        })
    });
    let dualpi2 = (
        any::<[u32; 2]>(),
        time(),
        time(),
        time(),
        [share(), share(), share()],
        any::<[bool; 3]>(),
    );
    let dualpi2 = dualpi2.prop_map(
        |([limit_packets, coupling], target, update, step_threshold, shares, flags)| {
            let [alpha, beta, classic_protection] = shares;
            let [drop_on_dequeue, drop_on_overload, only_ect1] = flags;
            Qdisc::Dualpi2(Dualpi2 {
                limit_packets,
                target,
                update,
                alpha,
                beta,
                step_threshold,
                coupling,
                classic_protection,
                drop_on_dequeue,
                drop_on_overload,
                only_ect1,
            })
        },
    );
    prop_oneof![choke, codel, pie, dualpi2, red().prop_map(Qdisc::Red)].boxed()
}

fn fair() -> BoxedStrategy<Qdisc> {
    let sfq =
        (any::<[u32; 5]>(), time(), any::<bool>()).prop_map(|(numbers, perturb, head_drop)| {
            let [limit_packets, quantum_bytes, divisor, flows, depth_packets] = numbers;
            Qdisc::Sfq(Sfq {
                limit_packets,
                quantum_bytes,
                divisor,
                flows,
                depth_packets,
                perturb,
                head_drop,
            })
        });
    let fq_codel = (any::<[u32; 4]>(), any::<u64>(), time(), time(), any::<bool>(), of(time()));
    let fq_codel =
        fq_codel.prop_map(|(numbers, memory_limit_bytes, target, interval, ecn, ce_threshold)| {
            let [limit_packets, flows, quantum_bytes, drop_batch_packets] = numbers;
            Qdisc::FqCodel(FqCodel {
                limit_packets,
                flows,
                quantum_bytes,
                target,
                interval,
                ecn,
                ce_threshold,
                memory_limit_bytes,
                drop_batch_packets,
            })
        });
    let fq_pie = (any::<[u32; 6]>(), any::<u64>(), time(), time(), any::<[bool; 3]>());
    let fq_pie = fq_pie.prop_map(|(numbers, memory_limit_bytes, target, update, flags)| {
        let [limit_packets, flows, quantum_bytes, alpha, beta, ecn_probability_percent] = numbers;
        let [ecn, bytemode, departure_rate] = flags;
        Qdisc::FqPie(FqPie {
            limit_packets,
            flows,
            quantum_bytes,
            target,
            update,
            alpha,
            beta,
            ecn,
            ecn_probability_percent,
            memory_limit_bytes,
            bytemode,
            departure_rate,
        })
    });
    let tins =
        prop::sample::select(vec![CakeTins::Besteffort, CakeTins::Diffserv4, CakeTins::Precedence]);
    let isolation = prop::sample::select(vec![CakeIsolation::Flows, CakeIsolation::DualSrchost]);
    let cake = (of(rate()), tins, isolation, time(), any::<i32>(), of(any::<u64>()));
    let cake =
        cake.prop_map(|(bandwidth, tins, isolation, rtt, overhead_bytes, memory_limit_bytes)| {
            Qdisc::Cake(Cake {
                bandwidth,
                tins,
                isolation,
                rtt,
                overhead_bytes,
                memory_limit_bytes,
                ack_filter: CakeAckFilter::Aggressive,
            })
        });
    let fast = any::<u32>().prop_map(|limit_packets| Qdisc::PfifoFast(PfifoFast { limit_packets }));
    prop_oneof![sfq, fq(), fq_codel, fq_pie, cake, fast].boxed()
}

fn fq() -> BoxedStrategy<Qdisc> {
    let times = (time(), of(time()), any::<bool>());
    (any::<[u32; 5]>(), times, of(rate()), rate())
        .prop_map(|(numbers, (refill_delay, ce_threshold, pacing), max_rate, low_rate)| {
            let [
                limit_packets,
                flow_limit_packets,
                quantum_bytes,
                initial_quantum_bytes,
                hash_mask,
            ] = numbers;
            Qdisc::Fq(Fq {
                limit_packets,
                flow_limit_packets,
                quantum_bytes,
                initial_quantum_bytes,
                max_rate,
                refill_delay,
                hash_mask,
                low_rate,
                ce_threshold,
                pacing,
            })
        })
        .boxed()
}

fn leaf() -> BoxedStrategy<Qdisc> {
    prop_oneof![
        Just(Qdisc::Unlimited {}),
        any::<u32>().prop_map(pfifo),
        any::<u64>().prop_map(|limit_bytes| Qdisc::Bfifo { limit_bytes }),
        early(),
        fair(),
    ]
    .boxed()
}

fn tbf(child: BoxedStrategy<Qdisc>) -> impl Strategy<Value = Qdisc> {
    let numbers =
        (rate(), [1..=u64::MAX, 1..=u64::MAX], of(rate()), of(any::<u64>()), time(), of(child));
    numbers.prop_map(
        |(rate, [burst_bytes, limit_bytes], peak_rate, mtu_bytes, granularity, child)| {
            let child = child.map(Box::new);
            Qdisc::Tbf(Tbf {
                rate,
                burst_bytes,
                limit_bytes,
                peak_rate,
                mtu_bytes,
                granularity,
                child,
            })
        },
    )
}

fn prio(child: BoxedStrategy<Qdisc>) -> impl Strategy<Value = Qdisc> {
    (vec(child, 1..5), any::<[u8; 16]>(), vec((filter(), any::<u8>()), 0..4)).prop_map(
        |(bands, priomap, filters)| {
            let last = u8::try_from(bands.len()).unwrap();
            let filters = filters.into_iter().map(|(filter, band)| (filter, band % last)).collect();
            Qdisc::Prio(Prio { bands, priomap, filters })
        },
    )
}

fn htb(child: BoxedStrategy<Qdisc>) -> impl Strategy<Value = Qdisc> {
    let class = (
        of(any::<prop::sample::Index>()),
        [rate(), rate()],
        any::<[u64; 2]>(),
        (any::<u8>(), any::<u32>()),
        vec(filter(), 0..3),
        child,
    );
    let own = (of(any::<prop::sample::Index>()), any::<[u32; 2]>(), time());
    (vec(class, 1..5), own).prop_map(|(drafts, (default, numbers, granularity))| {
        let parent = |place: usize, parent: &Option<prop::sample::Index>| {
            parent.filter(|_| place > 0).map(|parent| parent.index(place))
        };
        let parents: Vec<_> =
            drafts.iter().enumerate().map(|(place, draft)| parent(place, &draft.0)).collect();
        let classes: Vec<_> = (0..)
            .zip(drafts)
            .map(|(place, (_, [rate, ceil], bursts, numbers, filters, child))| {
                let is_leaf = !parents.contains(&Some(place));
                HtbClass {
                    name: String::new(),
                    parent: parents[place],
                    rate,
                    ceil,
                    burst_bytes: bursts[0],
                    ceil_burst_bytes: bursts[1],
                    priority: numbers.0,
                    quantum_bytes: numbers.1,
                    filters: if is_leaf { filters } else { Vec::new() },
                    child: is_leaf.then_some(child),
                }
            })
            .collect();
        let default_class = default.map(|index| index.index(classes.len()));
        let [rate_to_quantum, direct_packets] = numbers;
        Qdisc::Htb(Htb { classes, default_class, rate_to_quantum, direct_packets, granularity })
    })
}

fn curve() -> impl Strategy<Value = ServiceCurve> {
    (rate(), 1..=u32::MAX, rate()).prop_map(|(m1, micros, m2)| {
        let d = Span::from_micros(micros.into());
        if micros % 2 == 0 { ServiceCurve::linear(m2) } else { ServiceCurve { m1, d, m2 } }
    })
}

fn hfsc(child: BoxedStrategy<Qdisc>) -> impl Strategy<Value = Qdisc> {
    let class = (of(any::<prop::sample::Index>()), curve(), of(curve()), of(curve()), child);
    (vec(class, 1..5), of(any::<prop::sample::Index>())).prop_map(|(drafts, default)| {
        let parents: Vec<_> = drafts
            .iter()
            .enumerate()
            .map(|(place, draft)| draft.0.filter(|_| place > 0).map(|index| index.index(place)))
            .collect();
        let classes: Vec<_> = (0..)
            .zip(drafts)
            .map(|(place, (_, link_sharing, real_time, upper_limit, child))| HfscClass {
                name: String::new(),
                parent: parents[place],
                real_time,
                link_sharing: Some(link_sharing),
                upper_limit,
                filters: Vec::new(),
                child: (!parents.contains(&Some(place))).then_some(child),
            })
            .collect();
        let default_class = default.map(|index| index.index(classes.len()));
        Qdisc::Hfsc(Hfsc { classes, default_class })
    })
}

fn tree() -> impl Strategy<Value = Qdisc> {
    leaf().prop_recursive(3, 12, 4, |child| {
        let drr =
            vec((any::<u32>(), vec(filter(), 0..3), child.clone()), 1..4).prop_map(|classes| {
                let class =
                    |(quantum_bytes, filters, child)| DrrClass { quantum_bytes, filters, child };
                Qdisc::Drr(Drr { classes: classes.into_iter().map(class).collect() })
            });
        let red = (red(), child.clone())
            .prop_map(|(red, child)| Qdisc::Red(Red { child: Some(Box::new(child)), ..red }));
        let child = child.boxed();
        prop_oneof![
            tbf(child.clone()),
            prio(child.clone()),
            hfsc(child.clone()),
            htb(child),
            drr,
            red
        ]
    })
}

/// The tree without the names of classes.
fn nameless(mut queue: Qdisc) -> Qdisc {
    match &mut queue {
        Qdisc::Htb(htb) => {
            for class in &mut htb.classes {
                class.name.clear();
                class.child = class.child.take().map(nameless);
            }
        }
        Qdisc::Hfsc(hfsc) => {
            for class in &mut hfsc.classes {
                class.name.clear();
                class.child = class.child.take().map(nameless);
            }
        }
        Qdisc::Prio(prio) => prio.bands = prio.bands.drain(..).map(nameless).collect(),
        Qdisc::Drr(drr) => {
            for class in &mut drr.classes {
                class.child = nameless(std::mem::take(&mut class.child));
            }
        }
        Qdisc::Red(Red { child, .. }) | Qdisc::Tbf(Tbf { child, .. }) => {
            *child = child.take().map(|child| Box::new(nameless(*child)));
        }
        _ => {}
    }
    queue
}

proptest! {
    #[test]
    fn printed_tree_parses_to_itself(queue in tree()) {
        let text = commands(&queue, "eth0").join("\n");
        let again = parse(&text, LINK).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        prop_assert_eq!(nameless(again.clone()), queue, "{}", text);
        // With names that `tc` knows nothing is lost at all.
        prop_assert_eq!(parse(&commands(&again, "eth0").join(";"), LINK).unwrap(), again);
    }

    #[test]
    fn any_words_are_answered(text in "[a-z0-9:/;#. \n]{0,80}") {
        let _ = parse(&text, LINK);
    }

    #[test]
    fn any_words_of_tc_are_answered(words in vec(prop::sample::select(vec![
        "tc", "qdisc", "class", "filter", "add", "dev", "eth0", "root", "parent", "handle", "1:", "1:1", "1:10",
        "classid", "flowid", "htb", "hfsc", "ls", "m2", "prio", "tbf", "red", "drr", "pfifo", "rate", "5mbit", "burst", "1k", "limit",
        "63", "match", "ip", "group", "dport", "0xffff", "bands", "0", "default", "/", "\n", ";", "u32", "10",
    ]), 0..30)) {
        let _ = parse(&words.join(" "), LINK);
    }
}
