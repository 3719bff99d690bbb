//! The parameters of disciplines with classes, and of their classes.

use super::draft::{Body, ClassBody, HtbBody, HtbClassBody};
use super::error::TcError;
use super::options;
use super::words::Words;
use crate::{DEFAULT_PACKETS, Prio, Tbf};
use fairwind_units::{BitRate, Span};

/// What stands behind the name of a discipline. An htb may have the parameters of one class beside its own: the class
/// that takes everything.
pub(super) fn body(
    kind: &'static str,
    words: &mut Words<'_>,
    bandwidth: BitRate,
) -> Result<(Body, Option<HtbClassBody>), TcError> {
    if let Some(queue) = options::classless(kind, words, bandwidth)? {
        return Ok((Body::Classless(queue), None));
    }
    match kind {
        "tbf" => tbf(words).map(|tbf| (Body::Tbf(tbf), None)),
        "prio" => prio(words).map(|prio| (prio, None)),
        "drr" => words.option(&[]).map(|_| (Body::Drr, None)),
        _ => htb(words),
    }
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
fn htb(words: &mut Words<'_>) -> Result<(Body, Option<HtbClassBody>), TcError> {
    let mut htb = HtbBody {
        default: None,
        rate_to_quantum: 10,
        direct_packets: DEFAULT_PACKETS,
        granularity: Span::ZERO,
    };
    let mut class = UnratedClass::default();
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
    let class = if class.is_empty() { None } else { Some(class.finish(words)?) };
    Ok((Body::Htb(htb), class))
}

/// The minor number of a class, hexadecimal as everywhere in `tc`.
fn minor(words: &mut Words<'_>) -> Result<u32, TcError> {
    let word = words.value("the minor number of a class")?;
    let digits = word.strip_prefix("0x").unwrap_or(word);
    u32::from_str_radix(digits, 16)
        .map_err(|_| words.wrong(format!("\"{word}\" is no minor number such as 10")))
}

/// The parameters of a class, `kind` being that of its discipline.
pub(super) fn class_body(kind: &'static str, words: &mut Words<'_>) -> Result<ClassBody, TcError> {
    words.subject = if kind == "drr" { "a class of drr" } else { "a class of htb" };
    if kind == "drr" {
        let mut quantum_bytes = None;
        while words.option(&["quantum"])?.is_some() {
            quantum_bytes = Some(words.size()?);
        }
        return Ok(ClassBody::Drr { quantum_bytes });
    }
    let mut class = UnratedClass::default();
    while let Some(key) = words.option(&CLASS_KEYS)? {
        class.read(key, words)?;
    }
    class.finish(words).map(ClassBody::Htb)
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

/// A class of an htb while it is read.
#[derive(Default)]
struct UnratedClass {
    rate: Option<BitRate>,
    ceil: Option<BitRate>,
    burst_bytes: Option<u64>,
    ceil_burst_bytes: Option<u64>,
    priority: Option<u8>,
    quantum_bytes: Option<u32>,
}

impl UnratedClass {
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

    fn is_empty(&self) -> bool {
        let Self { rate, ceil, burst_bytes, ceil_burst_bytes, priority, quantum_bytes } = self;
        let sizes = burst_bytes.is_none() && ceil_burst_bytes.is_none() && quantum_bytes.is_none();
        rate.is_none() && ceil.is_none() && sizes && priority.is_none()
    }

    fn finish(self, words: &Words<'_>) -> Result<HtbClassBody, TcError> {
        let rate =
            self.rate.ok_or_else(|| words.wrong("a class of htb needs a rate: rate 5mbit"))?;
        Ok(HtbClassBody {
            rate,
            ceil: self.ceil,
            burst_bytes: self.burst_bytes,
            ceil_burst_bytes: self.ceil_burst_bytes,
            priority: self.priority.unwrap_or_default(),
            quantum_bytes: self.quantum_bytes,
        })
    }
}
