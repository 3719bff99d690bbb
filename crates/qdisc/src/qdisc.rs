//! The tree of disciplines before a link.

use crate::{
    Cake, Choke, Codel, Drr, Dualpi2, Filter, FqCodel, FqPie, Htb, Pie, Prio, Red, Sfq, Tbf,
};
use fairwind_units::BitRate;
use serde::{Deserialize, Serialize};

/// Packets that may wait where `tc` takes the length of the device's queue (`txqueuelen`).
pub const DEFAULT_PACKETS: u32 = 1000;

/// Bytes of the largest Ethernet frame, which is what `tc` takes for a quantum.
pub const ETHERNET_FRAME: u32 = 1514;

/// Bytes that may wait in a bfifo by default: [`DEFAULT_PACKETS`] of the largest frame.
// Widening; `u64::from` is not yet possible in a constant.
pub const DEFAULT_BYTES: u64 = DEFAULT_PACKETS as u64 * ETHERNET_FRAME as u64;

/// A queue discipline with its parameters. Limits count what waits, not the packet that is being serialised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "discipline", rename_all = "snake_case", deny_unknown_fields)]
pub enum Qdisc {
    /// First in, first out, never full.
    Unlimited {},
    /// First in, first out; an arrival is dropped where `limit_packets` wait already.
    Pfifo {
        /// Packets, at least one.
        limit_packets: u32,
    },
    /// First in, first out; an arrival is dropped where it would bring the waiting bytes above `limit_bytes`, so a
    /// small packet may find room where a large one does not.
    Bfifo {
        /// Bytes of IP packets, at least one. A packet larger than this never passes.
        limit_bytes: u64,
    },
    /// Random early detection.
    Red(Red),
    /// Random early detection that singles out flows which do not respond.
    Choke(Choke),
    /// Controlled delay.
    Codel(Codel),
    /// Proportional integral controller, enhanced.
    Pie(Pie),
    /// Two queues, coupled: one for scalable congestion controls, one for all others.
    Dualpi2(Dualpi2),
    /// Stochastic fairness queueing.
    Sfq(Sfq),
    /// Fair queueing with controlled delay.
    FqCodel(FqCodel),
    /// Fair queueing with PIE.
    FqPie(FqPie),
    /// Common applications kept enhanced: shaper, isolation of flows and hosts, COBALT.
    Cake(Cake),
    /// Deficit round robin over classes.
    Drr(Drr),
    /// Bands, the first one first.
    Prio(Prio),
    /// Token bucket filter.
    Tbf(Tbf),
    /// Hierarchy token bucket.
    Htb(Htb),
}

impl Default for Qdisc {
    fn default() -> Self {
        Self::Unlimited {}
    }
}

impl Qdisc {
    /// What `tc` calls it; `unlimited` is ours.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Unlimited {} => "unlimited",
            Self::Pfifo { .. } => "pfifo",
            Self::Bfifo { .. } => "bfifo",
            Self::Red(_) => "red",
            Self::Choke(_) => "choke",
            Self::Codel(_) => "codel",
            Self::Pie(_) => "pie",
            Self::Dualpi2(_) => "dualpi2",
            Self::Sfq(_) => "sfq",
            Self::FqCodel(_) => "fq_codel",
            Self::FqPie(_) => "fq_pie",
            Self::Cake(_) => "cake",
            Self::Drr(_) => "drr",
            Self::Prio(_) => "prio",
            Self::Tbf(_) => "tbf",
            Self::Htb(_) => "htb",
        }
    }

    /// The rate that nothing exceeds for long behind it, where it is a shaper: of an htb, that of the classes directly
    /// below it, which have nobody to borrow from.
    pub fn shaped_rate(&self) -> Option<BitRate> {
        match self {
            Self::Tbf(tbf) => Some(tbf.rate),
            Self::Cake(cake) => cake.bandwidth,
            Self::Htb(htb) => {
                let roots = htb.classes.iter().filter(|class| class.parent.is_none());
                let rates = roots.map(|class| class.rate.as_bits_per_second());
                let whole = rates.fold(0, u64::saturating_add);
                (whole > 0).then(|| BitRate::from_bits_per_second(whole))
            }
            _ => None,
        }
    }

    /// Whether it is first in, first out, and drops at the tail only.
    pub fn is_fifo(&self) -> bool {
        matches!(self, Self::Unlimited {} | Self::Pfifo { .. } | Self::Bfifo { .. })
    }

    /// Disciplines directly below.
    pub fn children(&self) -> Vec<&Self> {
        self.named_children().into_iter().map(|(_, child)| child).collect()
    }

    /// Disciplines directly below, each with the key that it stands at: `bands[0]`, `classes[1].child`.
    pub fn named_children(&self) -> Vec<(String, &Self)> {
        let only = |child: &'_ Option<Box<Self>>| child.is_some().then(|| "child".to_owned());
        match self {
            Self::Red(red) => only(&red.child).into_iter().zip(red.child.as_deref()).collect(),
            Self::Tbf(tbf) => only(&tbf.child).into_iter().zip(tbf.child.as_deref()).collect(),
            Self::Prio(prio) => {
                let bands = prio.bands.iter().enumerate();
                bands.map(|(index, band)| (format!("bands[{index}]"), band)).collect()
            }
            Self::Drr(drr) => {
                let classes = drr.classes.iter().enumerate();
                classes.map(|(index, class)| (class_key(index), &class.child)).collect()
            }
            Self::Htb(htb) => {
                let classes = htb.classes.iter().enumerate();
                let child = |(index, class): (usize, &'_ crate::HtbClass)| {
                    class.child.is_some().then(|| class_key(index))
                };
                let keys = classes.filter_map(child);
                keys.zip(htb.classes.iter().filter_map(|class| class.child.as_ref())).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Groups that filters ask for, each with the key of the filter: `classes[0].filters[1].group`.
    pub fn groups(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        self.gather_groups("", &mut found);
        found
    }

    fn gather_groups(&self, at: &str, found: &mut Vec<(String, String)>) {
        let mut note = |key: String, filter: &Filter| {
            found.extend(filter.group.clone().map(|group| (format!("{key}.group"), group)));
        };
        let mut note_class = |index: usize, filters: &[Filter]| {
            for (number, filter) in filters.iter().enumerate() {
                note(format!("{at}classes[{index}].filters[{number}]"), filter);
            }
        };
        match self {
            Self::Prio(prio) => {
                for (index, (filter, _)) in prio.filters.iter().enumerate() {
                    note(format!("{at}filters[{index}].match"), filter);
                }
            }
            Self::Drr(drr) => {
                let classes = drr.classes.iter().enumerate();
                classes.for_each(|(index, class)| note_class(index, &class.filters));
            }
            Self::Htb(htb) => {
                let classes = htb.classes.iter().enumerate();
                classes.for_each(|(index, class)| note_class(index, &class.filters));
            }
            _ => {}
        }
        for (key, child) in self.named_children() {
            child.gather_groups(&format!("{at}{key}."), found);
        }
    }
}

fn class_key(index: usize) -> String {
    format!("classes[{index}].child")
}
