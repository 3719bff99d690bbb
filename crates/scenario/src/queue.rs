//! A queue as a scenario describes it: a discipline by its name, or with the parameters that `tc` gives it.
//!
//! The doc comments here are the descriptions in the JSON Schema. Keys are called as in `tc`; what may wait is a
//! [`QueueLimit`], whatever unit the discipline counts in.

mod aqm;
mod fair;
mod resolve;
mod shape;
mod text;

pub use aqm::{ChokeInput, CodelInput, Dualpi2Input, PieInput, RedInput};
pub use fair::{CakeInput, DrrClassInput, DrrInput, FqCodelInput, FqPieInput, SfqInput};
pub use shape::{HtbClassInput, HtbInput, PrioFilterInput, PrioInput, TbfInput};
pub use text::{QueueText, QueueTextError};

pub(crate) use resolve::{Fault, Scale, resolve};

use crate::QueueLimit;
use fairwind_units::{BitRate, ByteCount};
use serde::{Deserialize, Serialize};

/// A queue: which packets wait, which leave next, and which are dropped or marked. Either the name of a discipline, with
/// what is usual, or a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum QueueInput {
    /// The name of a discipline, or what `tc` would be told.
    Text(QueueText),
    /// A discipline and its parameters.
    Table(Box<QueueTable>),
}

/// A discipline and its parameters; `pfifo` unless said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "discipline", rename_all = "snake_case", deny_unknown_fields)]
#[schemars(transform = crate::shape::first_is_usual)]
pub enum QueueTable {
    /// First in, first out; an arrival is dropped when `limit` packets wait.
    Pfifo {
        /// How much may wait, in packets; 1000 packets unless said.
        limit: Option<QueueLimit>,
    },
    /// First in, first out; an arrival is dropped when it would not fit in `limit` bytes.
    Bfifo {
        /// How much may wait, in bytes; 1 514 000 B unless said.
        limit: Option<QueueLimit>,
    },
    /// Random early detection (Floyd and Jacobson, 1993).
    Red(RedInput),
    /// Random early detection that singles out flows which do not respond (Pan, Prabhakar and Psounis, 2000).
    Choke(ChokeInput),
    /// Controlled delay (RFC 8289).
    Codel(CodelInput),
    /// Proportional integral controller, enhanced (RFC 8033).
    Pie(PieInput),
    /// Two coupled queues, one for scalable congestion controls, one for all others (RFC 9332).
    Dualpi2(Dualpi2Input),
    /// Stochastic fairness queueing (McKenney, 1990).
    Sfq(SfqInput),
    /// Fair queueing with controlled delay (RFC 8290).
    FqCodel(FqCodelInput),
    /// Fair queueing with PIE for every flow.
    FqPie(FqPieInput),
    /// Common applications kept enhanced: shaper, isolation of flows and hosts, COBALT.
    Cake(CakeInput),
    /// Deficit round robin over classes (Shreedhar and Varghese, 1996). What no class takes is dropped, as in the
    /// kernel.
    Drr(DrrInput),
    /// Bands, of which one is served only while all before it are empty.
    Prio(PrioInput),
    /// Token bucket filter: shapes to a rate, with bursts.
    Tbf(TbfInput),
    /// Hierarchy token bucket: classes have a rate of their own and borrow up to their ceiling. With `rate` it has one
    /// class for all packets, with `classes` several.
    Htb(HtbInput),
}

impl QueueInput {
    /// A first-in-first-out queue of `limit`.
    pub(crate) fn pfifo(limit: QueueLimit) -> Self {
        Self::Table(Box::new(QueueTable::Pfifo { limit: Some(limit) }))
    }

    /// Groups that filters ask for, each with the key of the filter below this queue; for a text without one.
    pub(crate) fn groups(&self) -> Vec<(String, String)> {
        let scale = Scale { rate: None, rtt: None, mtu: ByteCount::new(1500) };
        let (queue, _) = resolve(self, scale, "");
        let mut found = queue.groups();
        if matches!(self, Self::Text(_)) {
            for (key, _) in &mut found {
                key.clear();
            }
        }
        found
    }

    /// Whether it lets no more than a rate of its own pass.
    pub(crate) fn shapes(&self) -> bool {
        self.shaped_rate().is_some()
    }

    /// The rate that nothing exceeds for long behind it, where it is a shaper.
    pub(crate) fn shaped_rate(&self) -> Option<BitRate> {
        // Rates do not depend on what limits are resolved with.
        let scale = Scale { rate: None, rtt: None, mtu: ByteCount::new(1500) };
        resolve(self, scale, "").0.shaped_rate()
    }
}
