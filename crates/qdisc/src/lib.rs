//! Descriptions of queue disciplines and links, with the names and defaults of `tc`.
//!
//! One description for all users: a scenario resolves to a [`Qdisc`], the network builds a discipline from it, and the
//! testbed prints it as commands for the kernel. This crate handles no packets.
//!
//! Disciplines nest as they do in `tc`: a shaper or a scheduler holds others for its classes.
//!
//! ```
//! use fairwind_qdisc::{Codel, Qdisc};
//! let queue = Qdisc::Codel(Codel::default());
//! assert_eq!(queue.name(), "codel");
//! assert_eq!(Codel::default().target, "5 ms".parse()?);
//! # Ok::<(), fairwind_units::UnitError>(())
//! ```
//!
//! Modules: `qdisc` (the tree and the disciplines that hold others), `hfsc` and `service_curve`
//! (one of them), `classless` (all others), `parameters` (a
//! parameter's key, field, default and form), `input` and `text` (queues as a scenario writes them), `limit` (how much may
//! wait), `check` (errors and warnings of a tree), `impair` (netem's impairments), `correlated` (the share that correlated
//! draws hit), `recordings` (recorded rates, losses and delays), `demand` (capacity assigned on demand), [`tc`] (the syntax
//! of `tc`).

/// A type that is written as a text: serde through `Display` and `FromStr`, and its JSON Schema.
macro_rules! text_value {
    ($type:ident, $format:literal, $description:expr $(, pattern: $pattern:literal)?) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text =
                    <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string",
                    "format": $format,
                    $("pattern": $pattern,)?
                    "description": $description,
                })
            }
        }
    };
}

mod check;
mod classless;
mod correlated;
mod demand;
mod hfsc;
mod impair;
mod input;
mod limit;
mod parameters;
mod qdisc;
mod recordings;
mod service_curve;
pub mod tc;
mod text;

pub use check::QdiscFinding;
pub use classless::{
    Cake, CakeAckFilter, CakeInput, CakeIsolation, CakeTins, Choke, ChokeInput, Codel, CodelInput,
    Dualpi2, Dualpi2Input, Fq, FqCodel, FqCodelInput, FqInput, FqPie, FqPieInput, PfifoFast,
    PfifoFastInput, Pie, PieInput, Sfq, SfqInput,
};
pub use demand::{Carrier, CarrierError, Placement, RequestPolicy, Terminal};
pub use impair::{
    Chance, DelayStep, ImpairmentError, ImpairmentWarning, Impairments, Jitter, JitterDistribution,
    Loss, Reorder, Slot,
};
pub use input::{
    DrrClassInput, DrrInput, HfscClassInput, HfscInput, HtbClassInput, HtbInput, PrioFilterInput,
    PrioInput, QueueInput, QueueTable, RedInput, TbfInput, first_is_usual,
};
pub use limit::{
    DEFAULT_BANDWIDTH, DEFAULT_BYTES, DEFAULT_PACKETS, ETHERNET_FRAME, Fault, QueueLimit,
    QueueLimitError, Scale,
};
pub use qdisc::{Drr, DrrClass, Filter, Hfsc, HfscClass, Htb, HtbClass, Prio, Qdisc, Red, Tbf};
pub use recordings::{
    LineError, OPPORTUNITY_BYTES, RateStep, RateTrace, parse_delay_table, parse_losses,
};
pub use service_curve::{ServiceCurve, ServiceCurveInput, ServiceCurvePieces};
pub use text::{NetemText, NetemTextError, QueueText, QueueTextError};

/// Whether a value is the default: such fields are not written.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
