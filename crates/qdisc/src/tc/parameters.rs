//! Parameters of classless disciplines: one table each, which reading and printing share.
//!
//! Source: the manual page of each discipline; `gentle` of red is ours.

use super::words::{TcError, Words, print_rate, print_share, print_time};
use crate::{Cake, CakeIsolation, CakeTins, Choke, Codel, Dualpi2, FqCodel, FqPie, Pie, Red, Sfq};
use fairwind_units::{BitRate, Ratio, Span};
use std::fmt::Write as _;

/// A parameter of the discipline `D`: the word that `tc` has for it, and the field it sets.
pub(super) struct Parameter<D>(&'static str, Field<D>);

/// A field of a description, by the way its value is written.
enum Field<D> {
    Count(fn(&mut D) -> &mut u32),
    /// Bytes that fit in 32 bits.
    Size(fn(&mut D) -> &mut u32),
    Bytes(fn(&mut D) -> &mut u64),
    Time(fn(&mut D) -> &mut Span),
    OptionalTime(fn(&mut D) -> &mut Option<Span>),
    /// A bare number is in seconds; zero is not printed.
    Seconds(fn(&mut D) -> &mut Span),
    Rate(fn(&mut D) -> &mut BitRate),
    Share(fn(&mut D) -> &mut Ratio),
    PerCent(fn(&mut D) -> &mut Ratio),
    /// The word alone switches it on.
    Flag(fn(&mut D) -> &mut bool),
    /// The word switches it on, another one off.
    Switch(&'static str, fn(&mut D) -> &mut bool),
    /// The word has no effect here.
    Ignored,
}

use Field::{
    Bytes, Count, Flag, Ignored, OptionalTime, PerCent, Rate, Seconds, Share, Size, Switch, Time,
};

pub(super) const RED: &[Parameter<Red>] = &[
    Parameter("limit", Bytes(|red| &mut red.limit_bytes)),
    Parameter("min", Bytes(|red| &mut red.min_bytes)),
    Parameter("max", Bytes(|red| &mut red.max_bytes)),
    Parameter("avpkt", Size(|red| &mut red.average_packet_bytes)),
    Parameter("burst", Count(|red| &mut red.burst_packets)),
    Parameter("probability", Share(|red| &mut red.probability)),
    Parameter("bandwidth", Rate(|red| &mut red.bandwidth)),
    Parameter("ecn", Flag(|red| &mut red.ecn)),
    Parameter("harddrop", Flag(|red| &mut red.hard_drop)),
    Parameter("gentle", Flag(|red| &mut red.gentle)),
    Parameter("adaptive", Flag(|red| &mut red.adaptive)),
];

pub(super) const CHOKE: &[Parameter<Choke>] = &[
    Parameter("limit", Count(|choke| &mut choke.limit_packets)),
    Parameter("min", Count(|choke| &mut choke.min_packets)),
    Parameter("max", Count(|choke| &mut choke.max_packets)),
    Parameter("avpkt", Size(|choke| &mut choke.average_packet_bytes)),
    Parameter("burst", Count(|choke| &mut choke.burst_packets)),
    Parameter("probability", Share(|choke| &mut choke.probability)),
    Parameter("bandwidth", Rate(|choke| &mut choke.bandwidth)),
    Parameter("ecn", Flag(|choke| &mut choke.ecn)),
];

pub(super) const CODEL: &[Parameter<Codel>] = &[
    Parameter("limit", Count(|codel| &mut codel.limit_packets)),
    Parameter("target", Time(|codel| &mut codel.target)),
    Parameter("interval", Time(|codel| &mut codel.interval)),
    Parameter("ecn", Switch("noecn", |codel| &mut codel.ecn)),
    Parameter("ce_threshold", OptionalTime(|codel| &mut codel.ce_threshold)),
];

pub(super) const PIE: &[Parameter<Pie>] = &[
    Parameter("limit", Count(|pie| &mut pie.limit_packets)),
    Parameter("target", Time(|pie| &mut pie.target)),
    Parameter("tupdate", Time(|pie| &mut pie.update)),
    Parameter("alpha", Count(|pie| &mut pie.alpha)),
    Parameter("beta", Count(|pie| &mut pie.beta)),
    Parameter("ecn", Switch("noecn", |pie| &mut pie.ecn)),
    Parameter("bytemode", Switch("nobytemode", |pie| &mut pie.bytemode)),
    Parameter("dq_rate_estimator", Switch("no_dq_rate_estimator", |pie| &mut pie.departure_rate)),
];

pub(super) const DUALPI2: &[Parameter<Dualpi2>] = &[
    Parameter("limit", Count(|dualpi2| &mut dualpi2.limit_packets)),
    Parameter("target", Time(|dualpi2| &mut dualpi2.target)),
    Parameter("tupdate", Time(|dualpi2| &mut dualpi2.update)),
    Parameter("alpha", Share(|dualpi2| &mut dualpi2.alpha)),
    Parameter("beta", Share(|dualpi2| &mut dualpi2.beta)),
    Parameter("step_thresh", Time(|dualpi2| &mut dualpi2.step_threshold)),
    Parameter("coupling_factor", Count(|dualpi2| &mut dualpi2.coupling)),
    Parameter("classic_protection", PerCent(|dualpi2| &mut dualpi2.classic_protection)),
    Parameter("drop_dequeue", Switch("drop_enqueue", |dualpi2| &mut dualpi2.drop_on_dequeue)),
    Parameter("drop_on_overload", Switch("overflow", |dualpi2| &mut dualpi2.drop_on_overload)),
    Parameter("l4s_ect", Switch("any_ect", |dualpi2| &mut dualpi2.only_ect1)),
    // Packets are never joined, so there is nothing to split.
    Parameter("split_gso", Ignored),
    Parameter("no_split_gso", Ignored),
];

pub(super) const SFQ: &[Parameter<Sfq>] = &[
    Parameter("limit", Count(|sfq| &mut sfq.limit_packets)),
    Parameter("quantum", Size(|sfq| &mut sfq.quantum_bytes)),
    Parameter("divisor", Count(|sfq| &mut sfq.divisor)),
    Parameter("flows", Count(|sfq| &mut sfq.flows)),
    Parameter("depth", Count(|sfq| &mut sfq.depth_packets)),
    Parameter("perturb", Seconds(|sfq| &mut sfq.perturb)),
    Parameter("headdrop", Flag(|sfq| &mut sfq.head_drop)),
];

pub(super) const FQ_CODEL: &[Parameter<FqCodel>] = &[
    Parameter("limit", Count(|fq| &mut fq.limit_packets)),
    Parameter("flows", Count(|fq| &mut fq.flows)),
    Parameter("quantum", Size(|fq| &mut fq.quantum_bytes)),
    Parameter("target", Time(|fq| &mut fq.target)),
    Parameter("interval", Time(|fq| &mut fq.interval)),
    Parameter("ecn", Switch("noecn", |fq| &mut fq.ecn)),
    Parameter("ce_threshold", OptionalTime(|fq| &mut fq.ce_threshold)),
    Parameter("memory_limit", Bytes(|fq| &mut fq.memory_limit_bytes)),
    Parameter("drop_batch", Count(|fq| &mut fq.drop_batch_packets)),
];

pub(super) const FQ_PIE: &[Parameter<FqPie>] = &[
    Parameter("limit", Count(|fq| &mut fq.limit_packets)),
    Parameter("flows", Count(|fq| &mut fq.flows)),
    Parameter("target", Time(|fq| &mut fq.target)),
    Parameter("tupdate", Time(|fq| &mut fq.update)),
    Parameter("alpha", Count(|fq| &mut fq.alpha)),
    Parameter("beta", Count(|fq| &mut fq.beta)),
    Parameter("quantum", Size(|fq| &mut fq.quantum_bytes)),
    Parameter("memory_limit", Bytes(|fq| &mut fq.memory_limit_bytes)),
    Parameter("ecn_prob", Count(|fq| &mut fq.ecn_probability_percent)),
    Parameter("ecn", Switch("noecn", |fq| &mut fq.ecn)),
    Parameter("bytemode", Switch("nobytemode", |fq| &mut fq.bytemode)),
    Parameter("dq_rate_estimator", Switch("no_dq_rate_estimator", |fq| &mut fq.departure_rate)),
];

/// Reads the parameters of `table` into `description`, up to the last word.
pub(super) fn read<D>(
    table: &[Parameter<D>],
    mut description: D,
    words: &mut Words<'_>,
) -> Result<D, TcError> {
    let known: Vec<&'static str> = table.iter().flat_map(Parameter::words).collect();
    while let Some(word) = words.option(&known)? {
        let named = table.iter().find(|parameter| parameter.words().any(|known| known == word));
        if let Some(Parameter(name, field)) = named {
            field.read(&mut description, *name == word, words)?;
        }
    }
    Ok(description)
}

/// The parameters of `table` as words, each behind a blank.
pub(super) fn print<D: Clone>(table: &[Parameter<D>], description: &D) -> String {
    let (mut copy, mut text) = (description.clone(), String::new());
    for Parameter(name, field) in table {
        field.print(name, &mut copy, &mut text);
    }
    text
}

impl<D> Parameter<D> {
    /// The words that name it: two for a switch.
    fn words(&self) -> impl Iterator<Item = &'static str> + use<D> {
        let off = if let Switch(off, _) = self.1 { Some(off) } else { None };
        std::iter::once(self.0).chain(off)
    }
}

impl<D> Field<D> {
    /// Reads the value behind the parameter's word; `is_on` tells a switch's words apart.
    fn read(&self, into: &mut D, is_on: bool, words: &mut Words<'_>) -> Result<(), TcError> {
        match self {
            Count(field) => *field(into) = words.count()?,
            Size(field) => *field(into) = words.size()?,
            Bytes(field) => *field(into) = words.bytes()?,
            Time(field) => *field(into) = words.time()?,
            OptionalTime(field) => *field(into) = Some(words.time()?),
            Seconds(field) => *field(into) = words.seconds()?,
            Rate(field) => *field(into) = words.rate()?,
            Share(field) => *field(into) = words.share()?,
            PerCent(field) => *field(into) = words.per_cent()?,
            Flag(field) => *field(into) = true,
            Switch(_, field) => *field(into) = is_on,
            Ignored => {}
        }
        Ok(())
    }

    fn print(&self, name: &str, of: &mut D, text: &mut String) {
        let value = match self {
            Count(field) | Size(field) => field(of).to_string(),
            Bytes(field) => field(of).to_string(),
            Time(field) => print_time(*field(of)),
            OptionalTime(field) => match *field(of) {
                Some(time) => print_time(time),
                None => return,
            },
            Seconds(field) => match *field(of) {
                time if time.is_zero() => return,
                time => print_seconds(time),
            },
            Rate(field) => print_rate(*field(of)),
            Share(field) => print_share(*field(of)),
            PerCent(field) => print_per_cent(*field(of)),
            Flag(field) => {
                if *field(of) {
                    let _ = write!(text, " {name}");
                }
                return;
            }
            Switch(off, field) => {
                let _ = write!(text, " {}", if *field(of) { name } else { off });
                return;
            }
            Ignored => return,
        };
        let _ = write!(text, " {name} {value}");
    }
}

/// A bare number of seconds, which is all that `tc` takes here, or else a time.
fn print_seconds(time: Span) -> String {
    let text = print_time(time);
    match text.strip_suffix('s').filter(|digits| digits.parse::<u32>().is_ok()) {
        Some(digits) => digits.to_owned(),
        None => text,
    }
}

fn print_per_cent(share: Ratio) -> String {
    let parts = share.as_parts_per_billion();
    let text = format!("{}.{:07}", parts / 10_000_000, parts % 10_000_000);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
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

/// Words of cake that have no effect here: there is no NAT, nobody reads a packet's class behind the queue, segments are
/// never joined, and the others are the default.
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

/// Words of cake that would have an effect, and are not modelled.
const CAKE_NOT_MODELLED: [&str; 8] = [
    "ack-filter",
    "ack-filter-aggressive",
    "mpu",
    "atm",
    "ptm",
    "ingress",
    "autorate-ingress",
    "fwmark",
];

/// Reads the parameters of cake, many of which are words of a list.
pub(super) fn read_cake(words: &mut Words<'_>) -> Result<Cake, TcError> {
    let mut cake = Cake::default();
    let mut known = vec!["bandwidth", "unlimited", "rtt", "overhead", "memlimit"];
    known.extend(CAKE_WITHOUT_EFFECT);
    known.extend(CAKE_NOT_MODELLED);
    known.extend(TINS.iter().map(|(word, _)| *word));
    known.extend(ISOLATION.iter().map(|(word, _)| *word));
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
                    "cake's {word} is not modelled here, and would change what is measured: leave it out"
                );
                return Err(words.wrong(rule));
            }
            word => {
                if let Some(tins) = named(&TINS, word) {
                    cake.tins = tins;
                } else if let Some(isolation) = named(&ISOLATION, word) {
                    cake.isolation = isolation;
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
    text
}

fn named<T: Copy>(list: &[(&str, T)], word: &str) -> Option<T> {
    list.iter().find(|(known, _)| *known == word).map(|(_, value)| *value)
}

fn word_of<T: Copy + PartialEq>(list: &[(&'static str, T)], value: T) -> &'static str {
    list.iter().find(|(_, known)| *known == value).map_or("", |(word, _)| *word)
}
