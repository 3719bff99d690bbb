//! The parameters of disciplines without classes, as their pages call them.

use super::error::{TcError, advice};
use super::words::Words;
use crate::{
    CakeIsolation, CakeTins, Choke, Codel, DEFAULT_PACKETS, Dualpi2, ETHERNET_FRAME, FqCodel,
    FqPie, Pie, Qdisc, Red, Sfq,
};
use fairwind_units::{BitRate, Span};

/// What `tc` knows, and `unlimited`, which is ours.
pub(super) const KINDS: [&str; 16] = [
    "pfifo",
    "bfifo",
    "red",
    "choke",
    "codel",
    "pie",
    "dualpi2",
    "sfq",
    "fq_codel",
    "fq_pie",
    "cake",
    "drr",
    "prio",
    "tbf",
    "htb",
    "unlimited",
];

/// The name as it stands in [`KINDS`].
pub(super) fn kind(words: &mut Words<'_>) -> Result<&'static str, TcError> {
    let word = words.value("a queue discipline")?;
    if word == "netem" {
        let rule =
            "netem is what a link does, and no queue: write it as impairments of the path or link";
        return Err(words.wrong(rule));
    }
    if let Some(rule) = supported_alternative(word) {
        return Err(words.wrong(rule));
    }
    KINDS.into_iter().find(|kind| *kind == word).ok_or_else(|| {
        words.wrong(format!("\"{word}\" is no queue discipline; {}", advice(word, &KINDS)))
    })
}

/// What to take instead of a discipline that `tc` has and this has not.
pub fn supported_alternative(name: &str) -> Option<String> {
    let (nearest, why) = match name {
        "fq" => ("fq_codel", "which keeps flows apart as well; a sender's pacing is its tcp's"),
        "pfifo_fast" => ("prio", "which has the same three bands and priomap"),
        "mq" | "mqprio" | "multiq" => ("the discipline below it", "since links have one queue"),
        "noqueue" => ("unlimited", "which drops nothing"),
        "ingress" | "clsact" => {
            ("a queue of the link", "since packets are not held where they arrive")
        }
        "hfsc" | "cbq" => ("htb", "which shapes and lends, too"),
        "sfb" | "gred" | "hhf" => ("red or fq_codel", "which drop early, too"),
        _ => return None,
    };
    Some(format!("{name} is not here; nearest is {nearest}, {why}"))
}

/// A discipline without classes.
pub(super) fn classless(
    kind: &'static str,
    words: &mut Words<'_>,
    bandwidth: BitRate,
) -> Result<Option<Qdisc>, TcError> {
    words.subject = kind;
    Ok(Some(match kind {
        "unlimited" => {
            words.option(&[])?;
            Qdisc::Unlimited {}
        }
        "pfifo" => {
            Qdisc::Pfifo { limit_packets: limit(words, Words::count)?.unwrap_or(DEFAULT_PACKETS) }
        }
        "bfifo" => {
            let usual = u64::from(DEFAULT_PACKETS) * u64::from(ETHERNET_FRAME);
            Qdisc::Bfifo { limit_bytes: limit(words, Words::bytes)?.unwrap_or(usual) }
        }
        "red" => Qdisc::Red(red(words, bandwidth)?),
        "choke" => Qdisc::Choke(choke(words, bandwidth)?),
        "codel" => Qdisc::Codel(codel(words)?),
        "pie" => Qdisc::Pie(pie(words)?),
        "dualpi2" => Qdisc::Dualpi2(dualpi2(words)?),
        "sfq" => Qdisc::Sfq(sfq(words)?),
        "fq_codel" => Qdisc::FqCodel(fq_codel(words)?),
        "fq_pie" => Qdisc::FqPie(fq_pie(words)?),
        "cake" => Qdisc::Cake(cake(words)?),
        _ => return Ok(None),
    }))
}

fn limit<'t, T>(
    words: &mut Words<'t>,
    read: impl Fn(&mut Words<'t>) -> Result<T, TcError>,
) -> Result<Option<T>, TcError> {
    let mut limit = None;
    while words.option(&["limit"])?.is_some() {
        limit = Some(read(words)?);
    }
    Ok(limit)
}

fn red(words: &mut Words<'_>, bandwidth: BitRate) -> Result<Red, TcError> {
    let begin = words.last;
    let mut red =
        Red { min_bytes: 0, max_bytes: 0, burst_packets: 0, ..Red::with_limit(0, bandwidth) };
    let known = [
        "limit",
        "min",
        "max",
        "avpkt",
        "burst",
        "probability",
        "bandwidth",
        "ecn",
        "harddrop",
        "gentle",
        "adaptive",
    ];
    while let Some(key) = words.option(&known)? {
        match key {
            "limit" => red.limit_bytes = words.bytes()?,
            "min" => red.min_bytes = words.bytes()?,
            "max" => red.max_bytes = words.bytes()?,
            "avpkt" => red.average_packet_bytes = words.size()?,
            "burst" => red.burst_packets = words.count()?,
            "probability" => red.probability = words.share()?,
            "bandwidth" => red.bandwidth = words.rate()?,
            "ecn" => red.ecn = true,
            "harddrop" => red.hard_drop = true,
            "gentle" => red.gentle = true,
            _ => red.adaptive = true,
        }
    }
    if red.limit_bytes == 0 {
        return Err(begin.error("red needs a limit in bytes: limit 60kb"));
    }
    red.complete();
    Ok(red)
}

fn choke(words: &mut Words<'_>, bandwidth: BitRate) -> Result<Choke, TcError> {
    let begin = words.last;
    let mut choke = Choke {
        min_packets: 0,
        max_packets: 0,
        burst_packets: 0,
        ..Choke::with_limit(0, bandwidth)
    };
    let known = ["limit", "min", "max", "avpkt", "burst", "probability", "bandwidth", "ecn"];
    while let Some(key) = words.option(&known)? {
        match key {
            "limit" => choke.limit_packets = words.count()?,
            "min" => choke.min_packets = words.count()?,
            "max" => choke.max_packets = words.count()?,
            "avpkt" => choke.average_packet_bytes = words.size()?,
            "burst" => choke.burst_packets = words.count()?,
            "probability" => choke.probability = words.share()?,
            "bandwidth" => choke.bandwidth = words.rate()?,
            _ => choke.ecn = true,
        }
    }
    if choke.limit_packets == 0 {
        return Err(begin.error("choke needs a limit in packets: limit 60"));
    }
    choke.complete();
    Ok(choke)
}

fn codel(words: &mut Words<'_>) -> Result<Codel, TcError> {
    let mut codel = Codel::default();
    let known = ["limit", "target", "interval", "ecn", "noecn", "ce_threshold"];
    while let Some(key) = words.option(&known)? {
        match key {
            "limit" => codel.limit_packets = words.count()?,
            "target" => codel.target = words.time()?,
            "interval" => codel.interval = words.time()?,
            "ce_threshold" => codel.ce_threshold = Some(words.time()?),
            ecn => codel.ecn = ecn == "ecn",
        }
    }
    Ok(codel)
}

fn pie(words: &mut Words<'_>) -> Result<Pie, TcError> {
    let mut pie = Pie::default();
    let known = [
        "limit",
        "target",
        "tupdate",
        "alpha",
        "beta",
        "ecn",
        "noecn",
        "bytemode",
        "nobytemode",
        "dq_rate_estimator",
        "no_dq_rate_estimator",
    ];
    while let Some(key) = words.option(&known)? {
        match key {
            "limit" => pie.limit_packets = words.count()?,
            "target" => pie.target = words.time()?,
            "tupdate" => pie.update = words.time()?,
            "alpha" => pie.alpha = words.count()?,
            "beta" => pie.beta = words.count()?,
            "bytemode" | "nobytemode" => pie.bytemode = key == "bytemode",
            "ecn" | "noecn" => pie.ecn = key == "ecn",
            estimator => pie.departure_rate = estimator == "dq_rate_estimator",
        }
    }
    Ok(pie)
}

fn dualpi2(words: &mut Words<'_>) -> Result<Dualpi2, TcError> {
    let mut dualpi2 = Dualpi2::default();
    let known = [
        "limit",
        "target",
        "tupdate",
        "alpha",
        "beta",
        "step_thresh",
        "coupling_factor",
        "classic_protection",
        "drop_dequeue",
        "drop_enqueue",
        "drop_on_overload",
        "overflow",
        "l4s_ect",
        "any_ect",
        "split_gso",
        "no_split_gso",
    ];
    while let Some(key) = words.option(&known)? {
        match key {
            "limit" => dualpi2.limit_packets = words.count()?,
            "target" => dualpi2.target = words.time()?,
            "tupdate" => dualpi2.update = words.time()?,
            "alpha" => dualpi2.alpha = words.share()?,
            "beta" => dualpi2.beta = words.share()?,
            "step_thresh" => dualpi2.step_threshold = words.time()?,
            "coupling_factor" => dualpi2.coupling = words.count()?,
            "classic_protection" => dualpi2.classic_protection = words.per_cent()?,
            "drop_dequeue" | "drop_enqueue" => dualpi2.drop_on_dequeue = key == "drop_dequeue",
            "drop_on_overload" | "overflow" => dualpi2.drop_on_overload = key == "drop_on_overload",
            "l4s_ect" | "any_ect" => dualpi2.only_ect1 = key == "l4s_ect",
            // There are no segments to be split here.
            _ => {}
        }
    }
    Ok(dualpi2)
}

fn sfq(words: &mut Words<'_>) -> Result<Sfq, TcError> {
    let mut sfq = Sfq::default();
    let known = ["limit", "quantum", "divisor", "flows", "depth", "perturb", "headdrop"];
    while let Some(key) = words.option(&known)? {
        match key {
            "limit" => sfq.limit_packets = words.count()?,
            "quantum" => sfq.quantum_bytes = words.size()?,
            "divisor" => sfq.divisor = words.count()?,
            "flows" => sfq.flows = words.count()?,
            "depth" => sfq.depth_packets = words.count()?,
            "perturb" => sfq.perturb = seconds(words)?,
            _ => sfq.head_drop = true,
        }
    }
    Ok(sfq)
}

/// A time whose bare number is in seconds.
fn seconds(words: &mut Words<'_>) -> Result<Span, TcError> {
    match words.peek().and_then(|word| word.parse::<u32>().ok()) {
        Some(seconds) => {
            words.next();
            Ok(Span::from_secs(seconds.into()))
        }
        None => words.time(),
    }
}

fn fq_codel(words: &mut Words<'_>) -> Result<FqCodel, TcError> {
    let mut fair = FqCodel::default();
    let known = [
        "limit",
        "flows",
        "quantum",
        "target",
        "interval",
        "ecn",
        "noecn",
        "ce_threshold",
        "memory_limit",
        "drop_batch",
    ];
    while let Some(key) = words.option(&known)? {
        match key {
            "limit" => fair.limit_packets = words.count()?,
            "flows" => fair.flows = words.count()?,
            "quantum" => fair.quantum_bytes = words.size()?,
            "target" => fair.target = words.time()?,
            "interval" => fair.interval = words.time()?,
            "ce_threshold" => fair.ce_threshold = Some(words.time()?),
            "memory_limit" => fair.memory_limit_bytes = words.bytes()?,
            "drop_batch" => fair.drop_batch_packets = words.count()?,
            ecn => fair.ecn = ecn == "ecn",
        }
    }
    Ok(fair)
}

fn fq_pie(words: &mut Words<'_>) -> Result<FqPie, TcError> {
    let mut fair = FqPie::default();
    let known = [
        "limit",
        "flows",
        "quantum",
        "target",
        "tupdate",
        "alpha",
        "beta",
        "memory_limit",
        "ecn_prob",
        "ecn",
        "noecn",
        "bytemode",
        "nobytemode",
        "dq_rate_estimator",
        "no_dq_rate_estimator",
    ];
    while let Some(key) = words.option(&known)? {
        match key {
            "limit" => fair.limit_packets = words.count()?,
            "flows" => fair.flows = words.count()?,
            "quantum" => fair.quantum_bytes = words.size()?,
            "target" => fair.target = words.time()?,
            "tupdate" => fair.update = words.time()?,
            "alpha" => fair.alpha = words.count()?,
            "beta" => fair.beta = words.count()?,
            "memory_limit" => fair.memory_limit_bytes = words.bytes()?,
            "ecn_prob" => fair.ecn_probability_percent = words.count()?,
            "ecn" | "noecn" => fair.ecn = key == "ecn",
            "bytemode" | "nobytemode" => fair.bytemode = key == "bytemode",
            estimator => fair.departure_rate = estimator == "dq_rate_estimator",
        }
    }
    Ok(fair)
}

/// Words of cake that stand for its tins.
pub(super) const TINS: [(&str, CakeTins); 4] = [
    ("besteffort", CakeTins::Besteffort),
    ("diffserv3", CakeTins::Diffserv3),
    ("diffserv4", CakeTins::Diffserv4),
    ("precedence", CakeTins::Precedence),
];

/// Words of cake that stand for what shares evenly.
pub(super) const ISOLATION: [(&str, CakeIsolation); 8] = [
    ("flowblind", CakeIsolation::Flowblind),
    ("srchost", CakeIsolation::Srchost),
    ("dsthost", CakeIsolation::Dsthost),
    ("hosts", CakeIsolation::Hosts),
    ("flows", CakeIsolation::Flows),
    ("dual-srchost", CakeIsolation::DualSrchost),
    ("dual-dsthost", CakeIsolation::DualDsthost),
    ("triple-isolate", CakeIsolation::TripleIsolate),
];

/// Words of cake that stand for a typical round trip, in microseconds (tc-cake(8)).
const ROUND_TRIPS: [(&str, u64); 8] = [
    ("datacentre", 100),
    ("lan", 1_000),
    ("metro", 10_000),
    ("regional", 30_000),
    ("internet", 100_000),
    ("oceanic", 300_000),
    ("satellite", 1_000_000),
    ("interplanetary", 3_600_000_000),
];

/// Words of cake that change nothing here: addresses are not translated, nobody reads a packet's class behind the queue,
/// segments are never joined, and the others are what is done anyway.
const CAKE_WITHOUT_EFFECT: [&str; 10] = [
    "nat",
    "nonat",
    "wash",
    "nowash",
    "split-gso",
    "no-split-gso",
    "no-ack-filter",
    "egress",
    "noatm",
    "raw",
];

/// Words of cake that would change something, and are not there.
const CAKE_ELSEWHERE: [&str; 8] = [
    "ack-filter",
    "ack-filter-aggressive",
    "mpu",
    "atm",
    "ptm",
    "ingress",
    "autorate-ingress",
    "fwmark",
];

fn cake(words: &mut Words<'_>) -> Result<crate::Cake, TcError> {
    let mut cake = crate::Cake::default();
    let of = |word: &&'static str| *word;
    let mut known = vec!["bandwidth", "unlimited", "rtt", "overhead", "memlimit"];
    known.extend(CAKE_WITHOUT_EFFECT);
    known.extend(CAKE_ELSEWHERE);
    known.extend(TINS.iter().map(|(word, _)| of(word)));
    known.extend(ISOLATION.iter().map(|(word, _)| of(word)));
    known.extend(ROUND_TRIPS.iter().map(|(word, _)| of(word)));
    while let Some(key) = words.option(&known)? {
        match key {
            "bandwidth" => cake.bandwidth = Some(words.rate()?),
            "unlimited" => cake.bandwidth = None,
            "rtt" => cake.rtt = words.time()?,
            "overhead" => cake.overhead_bytes = signed(words)?,
            word if CAKE_ELSEWHERE.contains(&word) => {
                let rule = format!(
                    "cake's {word} is not modelled here, and would change what is measured: leave it out"
                );
                return Err(words.wrong(rule));
            }
            "memlimit" => cake.memory_limit_bytes = Some(words.bytes()?),
            word => named(&mut cake, word),
        }
    }
    Ok(cake)
}

fn named(cake: &mut crate::Cake, word: &str) {
    if let Some((_, tins)) = TINS.iter().find(|(known, _)| *known == word) {
        cake.tins = *tins;
    } else if let Some((_, isolation)) = ISOLATION.iter().find(|(known, _)| *known == word) {
        cake.isolation = *isolation;
    } else if let Some((_, micros)) = ROUND_TRIPS.iter().find(|(known, _)| *known == word) {
        cake.rtt = Span::from_micros(*micros);
    }
}

fn signed(words: &mut Words<'_>) -> Result<i32, TcError> {
    let word = words.value("a number of bytes")?;
    word.parse().map_err(|_| words.wrong(format!("\"{word}\" is no whole number")))
}
