//! Hierarchical fair service curve: its classes and curves, and how a scenario writes them.
//!
//! Sources: I. Stoica, H. Zhang and T. S. E. Ng, "A hierarchical fair service curve algorithm for link-sharing, real-time
//! and priority services", SIGCOMM 1997; tc-hfsc(7) for the curves' parameters.

use crate::input::QueueInput;
use crate::limit::Resolver;
use crate::qdisc::{Filter, Qdisc};
use fairwind_units::{BitRate, ByteCount, Span};
use serde::{Deserialize, Serialize};

/// Hierarchical fair service curve (tc-hfsc(7)): leaves are sure of their real-time curves, and share what is left by
/// their link-sharing curves, up to their upper limits.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hfsc {
    /// The tree, parents before their children.
    pub classes: Vec<HfscClass>,
    /// Index of the class of packets that no filter takes; `None`: they are dropped, as the kernel does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_class: Option<usize>,
}

/// A class of [`Hfsc`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HfscClass {
    /// Its name in `tc`, `1:10`.
    pub name: String,
    /// Index of its parent; `None` for one directly below the discipline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<usize>,
    /// Service that a leaf is sure of, whatever the classes above it have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub real_time: Option<ServiceCurve>,
    /// Its part of what is left, in relation to the other children of its parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_sharing: Option<ServiceCurve>,
    /// Most that it gets by link sharing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper_limit: Option<ServiceCurve>,
    /// Filters, any of which may match; only of a class without children.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<Filter>,
    /// Discipline that holds its packets; `None` for a class with children.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<Qdisc>,
}

/// Bytes that a class is to get in a time, since it has something to send: of two linear pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceCurve {
    /// Slope of the first piece.
    pub m1: BitRate,
    /// Length of the first piece, in whole microseconds; zero for a line.
    pub d: Span,
    /// Slope of the second piece.
    pub m2: BitRate,
}

impl ServiceCurve {
    /// A line.
    pub const fn linear(rate: BitRate) -> Self {
        Self { m1: BitRate::from_bits_per_second(0), d: Span::ZERO, m2: rate }
    }

    /// The curve that brings `umax_bytes` within `dmax`, and `rate` in the long run, as `tc` computes it.
    pub fn for_delay(umax_bytes: u64, dmax: Span, rate: BitRate) -> Self {
        let bits = u128::from(umax_bytes) * 8;
        let fast = (bits * 1_000_000_000).checked_div(u128::from(dmax.as_nanos())).unwrap_or(0);
        let fast = BitRate::from_bits_per_second(u64::try_from(fast).unwrap_or(u64::MAX));
        if fast > rate {
            return Self { m1: fast, d: dmax, m2: rate };
        }
        let d = dmax.saturating_sub(rate.serialisation_time(ByteCount::new(umax_bytes)));
        let d = Span::from_micros(1).saturating_mul(d.as_nanos().div_ceil(1000));
        Self { m1: BitRate::from_bits_per_second(0), d, m2: rate }
    }
}

impl Hfsc {
    /// The rate that nothing exceeds for long behind it; `None` where a class has no upper limit. Real-time curves are
    /// served beyond it.
    pub(crate) fn shaped_rate(&self) -> Option<BitRate> {
        let roots = (0..self.classes.len()).filter(|place| self.classes[*place].parent.is_none());
        let mut whole = 0_u64;
        for place in roots {
            let class = &self.classes[place];
            let certain = self.certain(place);
            let shared = match (&class.link_sharing, &class.upper_limit) {
                (None, _) => 0,
                (Some(_), Some(limit)) => limit.m2.as_bits_per_second(),
                (Some(_), None) => return None,
            };
            whole = whole.saturating_add(certain.max(shared));
        }
        (whole > 0).then(|| BitRate::from_bits_per_second(whole))
    }

    /// Bits per second of the real-time curves of the leaves below `place`, or of itself, in the long run.
    fn certain(&self, place: usize) -> u64 {
        let children =
            (place + 1..self.classes.len()).filter(|c| self.classes[*c].parent == Some(place));
        let below = children.map(|child| self.certain(child)).fold(0, u64::saturating_add);
        let class = &self.classes[place];
        let own = class.real_time.as_ref().filter(|_| class.child.is_some());
        own.map_or(below, |curve| curve.m2.as_bits_per_second())
    }
}

/// Parameters of `hfsc` (tc-hfsc(7)).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HfscInput {
    /// The tree, parents before their children.
    pub classes: Vec<HfscClassInput>,
    /// Name of the class of packets that no filter takes; default: they are dropped.
    pub default: Option<String>,
}

/// A class of `hfsc`. It has `rt`, `ls` or both; `sc` sets both at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HfscClassInput {
    /// Name, as `1:10` in `tc`; default: `1:` and its number from 1 in the list.
    pub name: Option<String>,
    /// Name of the class that it is part of; default: directly below the discipline.
    pub parent: Option<String>,
    /// Real-time curve: service that it is sure of; only of a class without classes below.
    pub rt: Option<ServiceCurveInput>,
    /// Link-sharing curve: its part of what is left, in relation to the other classes below its parent.
    pub ls: Option<ServiceCurveInput>,
    /// Instead of `rt` and `ls`: the same curve for both.
    pub sc: Option<ServiceCurveInput>,
    /// Upper limit of what it gets by link sharing; default: none.
    pub ul: Option<ServiceCurveInput>,
    /// Filters: the class takes packets that match any of them.
    #[serde(default)]
    pub filters: Vec<Filter>,
    /// Discipline that holds its packets, if it has no classes below; default: a pfifo of 1000 packets.
    pub child: Option<QueueInput>,
}

/// A service curve: a rate, or a table.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum ServiceCurveInput {
    /// A rate that does not change.
    Rate(BitRate),
    /// Two pieces, or a delay.
    Pieces(ServiceCurvePieces),
}

/// A service curve of two linear pieces: `m1` for a time `d`, then `m2`. Or `umax` bytes within `dmax`, then `rate`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServiceCurvePieces {
    /// Rate of the first piece; default: 0.
    pub m1: Option<BitRate>,
    /// Length of the first piece; default: 0, there is only the second.
    pub d: Option<Span>,
    /// Rate of the second piece.
    pub m2: Option<BitRate>,
    /// Bytes that are to be sent within `dmax`.
    pub umax: Option<ByteCount>,
    /// Time in which `umax` bytes are to be sent.
    pub dmax: Option<Span>,
    /// Rate in the long run, with `umax` and `dmax`.
    pub rate: Option<BitRate>,
}

impl ServiceCurvePieces {
    /// The curve; or what is wrong.
    pub(crate) fn curve(&self) -> Result<ServiceCurve, &'static str> {
        let by_slopes = self.m1.is_some() || self.d.is_some() || self.m2.is_some();
        let by_delay = self.umax.is_some() || self.dmax.is_some() || self.rate.is_some();
        match (by_slopes, by_delay, self.m2, self.rate) {
            (true, true, ..) => Err("it has either m1, d and m2, or umax, dmax and rate"),
            (true, false, Some(m2), _) => Ok(ServiceCurve {
                m1: self.m1.unwrap_or(BitRate::from_bits_per_second(0)),
                d: self.d.unwrap_or_default(),
                m2,
            }),
            (false, true, _, Some(rate)) => Ok(ServiceCurve::for_delay(
                self.umax.map_or(0, ByteCount::get),
                self.dmax.unwrap_or_default(),
                rate,
            )),
            _ => Err("it needs m2, or rate"),
        }
    }
}

impl HfscInput {
    pub(crate) fn resolve(&self, resolver: &mut Resolver<'_>) -> Qdisc {
        let name = |(index, class): (usize, &HfscClassInput)| {
            class.name.clone().unwrap_or_else(|| format!("1:{:x}", index + 1))
        };
        let names: Vec<String> = self.classes.iter().enumerate().map(name).collect();
        let mut hfsc = Hfsc::default();
        for (index, class) in self.classes.iter().enumerate() {
            let is_inner = self.classes.iter().any(|c| c.parent.as_ref() == Some(&names[index]));
            hfsc.classes.push(class.resolve(index, &names, is_inner, resolver));
        }
        if let Some(name) = &self.default {
            hfsc.default_class = resolver.class("default", name, &names);
        }
        Qdisc::Hfsc(hfsc)
    }
}

impl HfscClassInput {
    fn resolve(
        &self,
        index: usize,
        names: &[String],
        is_inner: bool,
        resolver: &mut Resolver<'_>,
    ) -> HfscClass {
        let key = |name: &str| format!("classes[{index}].{name}");
        let mut curve = |name: &str, input: Option<ServiceCurveInput>| {
            let curve = match input? {
                ServiceCurveInput::Rate(rate) => Ok(ServiceCurve::linear(rate)),
                ServiceCurveInput::Pieces(pieces) => pieces.curve(),
            };
            curve.map_err(|rule| resolver.fault(&key(name), rule.to_owned(), None)).ok()
        };
        let both = curve("sc", self.sc);
        let [real_time, link_sharing, upper_limit] =
            [("rt", self.rt), ("ls", self.ls), ("ul", self.ul)].map(|(name, i)| curve(name, i));
        if self.sc.is_some() && (self.rt.is_some() || self.ls.is_some()) {
            let rule = "it sets rt and ls, of which one is set already".to_owned();
            resolver.fault(&key("sc"), rule, None);
        }
        let parent = self.parent.as_ref();
        let mut class = HfscClass {
            name: names[index].clone(),
            parent: parent.and_then(|parent| resolver.class(&key("parent"), parent, names)),
            real_time: real_time.or(both),
            link_sharing: link_sharing.or(both),
            upper_limit,
            filters: self.filters.clone(),
            child: None,
        };
        if !is_inner || self.child.is_some() {
            let child = self.child.as_ref();
            class.child = Some(match class.upper_limit {
                Some(limit) => resolver.shaped_to(limit.m2).child_or_pfifo(&key("child"), child),
                None => resolver.child_or_pfifo(&key("child"), child),
            });
        }
        class
    }
}
