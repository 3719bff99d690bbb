//! Disciplines and classes as `tc` names them, with their parameters.

use super::draft::{Body, ClassBody, HtbBody, HtbClassBody};
use super::hfsc::{CURVES, HfscClassBody};
use super::words::{TcError, Words, advice, print_rate, print_time};
use crate::parameters;
use crate::{
    Cake, CakeAckFilter, CakeIsolation, CakeTins, Choke, Codel, DEFAULT_BYTES, DEFAULT_PACKETS,
    Dualpi2, Fq, FqCodel, FqPie, PfifoFast, Pie, Prio, Qdisc, Red, Sfq, Tbf,
};
use fairwind_units::{BitRate, Span};
use std::fmt::Write as _;

/// What `tc` knows, and `unlimited`, which is ours.
pub(crate) const KINDS: [&str; 19] = [
    "pfifo",
    "bfifo",
    "pfifo_fast",
    "red",
    "choke",
    "codel",
    "pie",
    "dualpi2",
    "sfq",
    "fq",
    "fq_codel",
    "fq_pie",
    "cake",
    "drr",
    "prio",
    "tbf",
    "htb",
    "hfsc",
    "unlimited",
];

/// The name as it stands in [`KINDS`].
pub(super) fn kind(words: &mut Words<'_>) -> Result<&'static str, TcError> {
    let word = words.value("a queue discipline")?;
    if word == "netem" {
        let rule =
            "netem is not a queue but an impairment: write it as impairments of the path or link";
        return Err(words.wrong(rule));
    }
    if let Some(rule) = supported_alternative(word) {
        return Err(words.wrong(rule));
    }
    KINDS.into_iter().find(|kind| *kind == word).ok_or_else(|| {
        words.wrong(format!("\"{word}\" is not a queue discipline; {}", advice(word, &KINDS)))
    })
}

/// What to take instead of a discipline that `tc` has and this has not.
pub fn supported_alternative(name: &str) -> Option<String> {
    let (nearest, why) = match name {
        "mq" | "mqprio" | "multiq" => ("the discipline below it", "since links have one queue"),
        "noqueue" => ("unlimited", "which drops nothing"),
        "ingress" | "clsact" => {
            ("a queue of the link", "since packets are not held where they arrive")
        }
        "cbq" => ("htb", "which shapes and lends, too"),
        "qfq" | "ets" => ("drr", "whose classes take turns, too"),
        "sfb" | "gred" | "hhf" => ("red or fq_codel", "which drop early, too"),
        _ => return None,
    };
    Some(format!("{name} is not supported; the nearest is {nearest}, {why}"))
}

/// What stands behind the name of a discipline. An htb or hfsc may have the parameters of one class beside its own: the class
/// that takes everything.
pub(super) fn body(
    kind: &'static str,
    words: &mut Words<'_>,
    bandwidth: BitRate,
) -> Result<(Body, Option<ClassBody>), TcError> {
    if let Some(queue) = classless(kind, words, bandwidth)? {
        return Ok((Body::Classless(queue), None));
    }
    match kind {
        "tbf" => tbf(words).map(|tbf| (Body::Tbf(tbf), None)),
        "prio" => prio(words).map(|prio| (prio, None)),
        "drr" => words.option(&[]).map(|_| (Body::Drr, None)),
        "hfsc" => hfsc(words),
        _ => htb(words),
    }
}

/// A discipline without classes; `None` if `kind` has classes.
fn classless(
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
            Qdisc::Bfifo { limit_bytes: limit(words, Words::bytes)?.unwrap_or(DEFAULT_BYTES) }
        }
        "pfifo_fast" => {
            Qdisc::PfifoFast(parameters::read(PfifoFast::PARAMETERS, PfifoFast::default(), words)?)
        }
        "red" => Qdisc::Red(red(words, bandwidth)?),
        "choke" => Qdisc::Choke(choke(words, bandwidth)?),
        "codel" => Qdisc::Codel(parameters::read(Codel::PARAMETERS, Codel::default(), words)?),
        "pie" => Qdisc::Pie(parameters::read(Pie::PARAMETERS, Pie::default(), words)?),
        "dualpi2" => {
            Qdisc::Dualpi2(parameters::read(Dualpi2::PARAMETERS, Dualpi2::default(), words)?)
        }
        "sfq" => Qdisc::Sfq(parameters::read(Sfq::PARAMETERS, Sfq::default(), words)?),
        "fq" => Qdisc::Fq(parameters::read(Fq::PARAMETERS, Fq::default(), words)?),
        "fq_codel" => {
            Qdisc::FqCodel(parameters::read(FqCodel::PARAMETERS, FqCodel::default(), words)?)
        }
        "fq_pie" => Qdisc::FqPie(parameters::read(FqPie::PARAMETERS, FqPie::default(), words)?),
        "cake" => Qdisc::Cake(read_cake(words)?),
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
    let mut red = parameters::read(Red::PARAMETERS, Red::with_limit(0, bandwidth), words)?;
    if red.limit_bytes == 0 {
        return Err(begin.error("red needs a limit in bytes: limit 60kb"));
    }
    red.fill_defaults();
    Ok(red)
}

fn choke(words: &mut Words<'_>, bandwidth: BitRate) -> Result<Choke, TcError> {
    let begin = words.last;
    let mut choke = parameters::read(Choke::PARAMETERS, Choke::with_limit(0, bandwidth), words)?;
    if choke.limit_packets == 0 {
        return Err(begin.error("choke needs a limit in packets: limit 60"));
    }
    choke.fill_defaults();
    Ok(choke)
}

fn tbf(words: &mut Words<'_>) -> Result<Tbf, TcError> {
    let begin = words.last;
    let none = BitRate::from_bits_per_second(0);
    let mut tbf = Tbf {
        rate: none,
        burst_bytes: 0,
        limit_bytes: 0,
        peak_rate: None,
        mtu_bytes: None,
        granularity: Span::ZERO,
        child: None,
    };
    let mut latency = None;
    let known = [
        "rate",
        "burst",
        "buffer",
        "maxburst",
        "limit",
        "latency",
        "peakrate",
        "mtu",
        "minburst",
        "granularity",
    ];
    while let Some(key) = words.option(&known)? {
        match key {
            "rate" => tbf.rate = words.rate()?,
            "burst" | "buffer" | "maxburst" => tbf.burst_bytes = words.bytes()?,
            "limit" => tbf.limit_bytes = words.bytes()?,
            "latency" => latency = Some(words.time()?),
            "peakrate" => tbf.peak_rate = Some(words.rate()?),
            "mtu" | "minburst" => tbf.mtu_bytes = Some(words.bytes()?),
            _ => tbf.granularity = words.time()?,
        }
    }
    if tbf.rate == none || tbf.burst_bytes == 0 {
        return Err(begin.error("tbf needs a rate and a burst: rate 1mbit burst 2k"));
    }
    match (tbf.limit_bytes, latency) {
        (0, Some(latency)) => tbf.limit_bytes = tbf.limit_for_latency(latency),
        (0, None) => return Err(begin.error("tbf needs a limit or a latency: latency 50ms")),
        (_, Some(_)) => return Err(begin.error("tbf has a limit or a latency, not both")),
        _ => {}
    }
    Ok(tbf)
}

fn prio(words: &mut Words<'_>) -> Result<Body, TcError> {
    let mut bands = Prio::default().bands.len();
    let mut said = None;
    while let Some(key) = words.option(&["bands", "priomap"])? {
        if key == "bands" {
            bands = usize::from(words.count::<u8>()?);
        } else {
            let mut priomap = [0; 16];
            for band in &mut priomap {
                *band = words.count()?;
            }
            said = Some(priomap);
        }
    }
    let priomap = said.unwrap_or(Prio::default_priomap(bands));
    Ok(Body::Prio { bands, priomap })
}

/// An htb's own parameters, and those of its only class where there is a rate among them.
fn htb(words: &mut Words<'_>) -> Result<(Body, Option<ClassBody>), TcError> {
    let mut htb = HtbBody {
        default: None,
        rate_to_quantum: 10,
        direct_packets: DEFAULT_PACKETS,
        granularity: Span::ZERO,
    };
    let mut class = HtbClassBody::default();
    let known: Vec<&str> =
        ["default", "r2q", "direct_qlen", "granularity"].into_iter().chain(CLASS_KEYS).collect();
    while let Some(key) = words.option(&known)? {
        match key {
            "default" => htb.default = Some((minor(words)?, words.last)),
            "r2q" => htb.rate_to_quantum = words.count()?,
            "direct_qlen" => htb.direct_packets = words.count()?,
            "granularity" => htb.granularity = words.time()?,
            key => class.read(key, words)?,
        }
    }
    let class = if class == HtbClassBody::default() { None } else { Some(class.finish(words)?) };
    Ok((Body::Htb(htb), class))
}

/// The default class of an hfsc, and the curves of its only class where there are some.
fn hfsc(words: &mut Words<'_>) -> Result<(Body, Option<ClassBody>), TcError> {
    let (mut default, mut class) = (None, HfscClassBody::default());
    let known: Vec<&str> = ["default"].into_iter().chain(CURVES).collect();
    while let Some(key) = words.option(&known)? {
        match key {
            "default" => default = Some((minor(words)?, words.last)),
            key => class.read(key, words)?,
        }
    }
    let is_without = class == HfscClassBody::default();
    let class = if is_without { None } else { Some(ClassBody::Hfsc(class.finish(words)?)) };
    Ok((Body::Hfsc { default }, class))
}

/// The minor number of a class, hexadecimal as everywhere in `tc`.
fn minor(words: &mut Words<'_>) -> Result<u32, TcError> {
    let word = words.value("the minor number of a class")?;
    let digits = word.strip_prefix("0x").unwrap_or(word);
    u32::from_str_radix(digits, 16)
        .map_err(|_| words.wrong(format!("\"{word}\" is not a minor number such as 10")))
}

/// The parameters of a class, `kind` being that of its discipline.
pub(super) fn class_body(kind: &'static str, words: &mut Words<'_>) -> Result<ClassBody, TcError> {
    words.subject = match kind {
        "drr" => "a class of drr",
        "hfsc" => "a class of hfsc",
        _ => "a class of htb",
    };
    if kind == "drr" {
        let mut quantum_bytes = None;
        while words.option(&["quantum"])?.is_some() {
            quantum_bytes = Some(words.size()?);
        }
        return Ok(ClassBody::Drr { quantum_bytes });
    }
    if kind == "hfsc" {
        let mut class = HfscClassBody::default();
        while let Some(key) = words.option(&CURVES)? {
            class.read(key, words)?;
        }
        return class.finish(words).map(ClassBody::Hfsc);
    }
    let mut class = HtbClassBody::default();
    while let Some(key) = words.option(&CLASS_KEYS)? {
        class.read(key, words)?;
    }
    class.finish(words)
}

const CLASS_KEYS: [&str; 10] = [
    "rate",
    "ceil",
    "burst",
    "buffer",
    "maxburst",
    "cburst",
    "cbuffer",
    "cmaxburst",
    "prio",
    "quantum",
];

impl HtbClassBody {
    fn read(&mut self, key: &str, words: &mut Words<'_>) -> Result<(), TcError> {
        match key {
            "rate" => self.rate = Some(words.rate()?),
            "ceil" => self.ceil = Some(words.rate()?),
            "burst" | "buffer" | "maxburst" => self.burst_bytes = Some(words.bytes()?),
            "cburst" | "cbuffer" | "cmaxburst" => self.ceil_burst_bytes = Some(words.bytes()?),
            "prio" => self.priority = Some(words.count()?),
            _ => self.quantum_bytes = Some(words.size()?),
        }
        Ok(())
    }

    fn finish(self, words: &Words<'_>) -> Result<ClassBody, TcError> {
        let rate = self.rate.ok_or_else(|| words.wrong("a class of htb needs a rate: rate 5mbit"));
        Ok(ClassBody::Htb(rate?, self))
    }
}

/// Words of cake for its tins.
const TINS: [(&str, CakeTins); 4] = [
    ("besteffort", CakeTins::Besteffort),
    ("diffserv3", CakeTins::Diffserv3),
    ("diffserv4", CakeTins::Diffserv4),
    ("precedence", CakeTins::Precedence),
];

/// Words of cake for what it isolates.
const ISOLATION: [(&str, CakeIsolation); 8] = [
    ("flowblind", CakeIsolation::Flowblind),
    ("srchost", CakeIsolation::Srchost),
    ("dsthost", CakeIsolation::Dsthost),
    ("hosts", CakeIsolation::Hosts),
    ("flows", CakeIsolation::Flows),
    ("dual-srchost", CakeIsolation::DualSrchost),
    ("dual-dsthost", CakeIsolation::DualDsthost),
    ("triple-isolate", CakeIsolation::TripleIsolate),
];

/// Words of cake for its ACK filter.
const ACK_FILTERS: [(&str, CakeAckFilter); 3] = [
    ("no-ack-filter", CakeAckFilter::Off),
    ("ack-filter", CakeAckFilter::On),
    ("ack-filter-aggressive", CakeAckFilter::Aggressive),
];

/// Words of cake for a typical round trip, in microseconds (tc-cake(8)).
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

/// Words of cake that have no effect here: there is no NAT, a packet's class is not used behind the queue, segments are
/// never joined, and the others are the default.
const CAKE_WITHOUT_EFFECT: [&str; 9] =
    ["nat", "nonat", "wash", "nowash", "split-gso", "no-split-gso", "egress", "noatm", "raw"];

/// Words of cake that would have an effect, and are not modelled.
const CAKE_NOT_MODELLED: [&str; 6] = ["mpu", "atm", "ptm", "ingress", "autorate-ingress", "fwmark"];

/// Reads the parameters of cake, many of which are words of a list.
fn read_cake(words: &mut Words<'_>) -> Result<Cake, TcError> {
    let mut cake = Cake::default();
    let mut known = vec!["bandwidth", "unlimited", "rtt", "overhead", "memlimit"];
    known.extend(CAKE_WITHOUT_EFFECT);
    known.extend(CAKE_NOT_MODELLED);
    known.extend(TINS.iter().map(|(word, _)| *word));
    known.extend(ISOLATION.iter().map(|(word, _)| *word));
    known.extend(ACK_FILTERS.iter().map(|(word, _)| *word));
    known.extend(ROUND_TRIPS.iter().map(|(word, _)| *word));
    while let Some(key) = words.option(&known)? {
        match key {
            "bandwidth" => cake.bandwidth = Some(words.rate()?),
            "unlimited" => cake.bandwidth = None,
            "rtt" => cake.rtt = words.time()?,
            "overhead" => cake.overhead_bytes = words.signed()?,
            "memlimit" => cake.memory_limit_bytes = Some(words.bytes()?),
            word if CAKE_NOT_MODELLED.contains(&word) => {
                let rule = format!(
                    "cake's {word} is not modelled, but would change the results: leave it out"
                );
                return Err(words.wrong(rule));
            }
            word => {
                if let Some(tins) = named(&TINS, word) {
                    cake.tins = tins;
                } else if let Some(isolation) = named(&ISOLATION, word) {
                    cake.isolation = isolation;
                } else if let Some(filter) = named(&ACK_FILTERS, word) {
                    cake.ack_filter = filter;
                } else if let Some(micros) = named(&ROUND_TRIPS, word) {
                    cake.rtt = Span::from_micros(micros);
                }
            }
        }
    }
    Ok(cake)
}

pub(super) fn print_cake(cake: &Cake) -> String {
    let mut text = match cake.bandwidth {
        Some(bandwidth) => format!(" bandwidth {}", print_rate(bandwidth)),
        None => " unlimited".to_owned(),
    };
    let (tins, isolation) = (word_of(&TINS, cake.tins), word_of(&ISOLATION, cake.isolation));
    let (rtt, overhead) = (print_time(cake.rtt), cake.overhead_bytes);
    let _ = write!(text, " {tins} {isolation} rtt {rtt} overhead {overhead}");
    if let Some(bytes) = cake.memory_limit_bytes {
        let _ = write!(text, " memlimit {bytes}");
    }
    if cake.ack_filter != CakeAckFilter::Off {
        let _ = write!(text, " {}", word_of(&ACK_FILTERS, cake.ack_filter));
    }
    text
}

fn named<T: Copy>(list: &[(&str, T)], word: &str) -> Option<T> {
    list.iter().find(|(known, _)| *known == word).map(|(_, value)| *value)
}

fn word_of<T: Copy + PartialEq>(list: &[(&'static str, T)], value: T) -> &'static str {
    list.iter().find(|(_, known)| *known == value).map_or("", |(word, _)| *word)
}
