//! What stands where in a tree, before anybody knows whether it fits together.

use super::filter::FilterDraft;
use super::words::Place;
use crate::{Qdisc, Tbf};
use fairwind_units::{BitRate, Span};

/// A class's or a discipline's number: major and minor, as `1:10`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Handle {
    pub(super) major: u32,
    /// Zero for a discipline.
    pub(super) minor: u32,
}

impl std::fmt::Display for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:x}:{:x}", self.major, self.minor)
    }
}

/// Disciplines, classes and filters as they were written.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) disciplines: Vec<DisciplineDraft>,
    pub(super) classes: Vec<ClassDraft>,
    pub(super) filters: Vec<FilterDraft>,
}

/// A discipline.
#[derive(Debug)]
pub(super) struct DisciplineDraft {
    pub(super) major: u32,
    /// The class that it is the discipline of; `None` at the root.
    pub(super) parent: Option<Handle>,
    pub(super) body: Body,
    pub(super) place: Place,
}

/// A discipline without what is below.
#[derive(Debug, Clone)]
pub(super) enum Body {
    /// It has no classes; a red may have a child.
    Classless(Qdisc),
    Tbf(Tbf),
    Prio {
        bands: usize,
        priomap: [u8; 16],
    },
    Drr,
    Htb(HtbBody),
}

/// An htb without its classes.
#[derive(Debug, Clone, Copy)]
pub(super) struct HtbBody {
    /// Minor number of the default class, and where it was written.
    pub(super) default: Option<(u32, Place)>,
    pub(super) rate_to_quantum: u32,
    pub(super) direct_packets: u32,
    pub(super) granularity: Span,
}

/// A class.
#[derive(Debug)]
pub(super) struct ClassDraft {
    pub(super) handle: Handle,
    pub(super) parent: Option<Handle>,
    pub(super) body: ClassBody,
    pub(super) place: Place,
}

/// The parameters of a class.
#[derive(Debug, Clone, Copy)]
pub(super) enum ClassBody {
    Drr { quantum_bytes: Option<u32> },
    Htb(HtbClassBody),
}

/// The parameters of a class of an htb.
#[derive(Debug, Clone, Copy)]
pub(super) struct HtbClassBody {
    pub(super) rate: BitRate,
    pub(super) ceil: Option<BitRate>,
    pub(super) burst_bytes: Option<u64>,
    pub(super) ceil_burst_bytes: Option<u64>,
    pub(super) priority: u8,
    pub(super) quantum_bytes: Option<u32>,
}

impl Draft {
    /// A number that no discipline has.
    pub(super) fn next_major(&self) -> u32 {
        self.disciplines.iter().map(|discipline| discipline.major).max().unwrap_or(0) + 1
    }
}
