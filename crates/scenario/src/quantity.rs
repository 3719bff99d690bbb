//! The quantities that a text can be, by the format that the schema names.

use crate::{Congestion, NetemText, QueueLimit, QueueText};
use fairwind_units::{BitRate, ByteCount, Ratio, Span};

/// A quantity written as a text with its unit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quantity {
    /// What it is called in a message.
    pub(crate) noun: &'static str,
    /// A text that is one.
    pub(crate) example: &'static str,
    /// What is wrong with a text, where it is not one.
    pub(crate) fault: fn(&str) -> Option<String>,
}

impl Quantity {
    /// Whether it is a number with a unit.
    pub(crate) fn has_unit(self) -> bool {
        !["queue discipline", "line for netem", "congestion control"].contains(&self.noun)
    }

    /// The quantity that `format` names.
    pub(crate) fn of_format(format: &str) -> Option<Self> {
        let quantity = |noun, example, fault| Some(Self { noun, example, fault });
        match format {
            "Span" => quantity("time", "20 ms", fault::<Span>),
            "BitRate" => quantity("rate", "10 Mbit/s", fault::<BitRate>),
            "ByteCount" => quantity("size", "1500 B", fault::<ByteCount>),
            "Ratio" => quantity("share", "2 %", fault::<Ratio>),
            "Queue" => quantity("queue discipline", "fq_codel", fault::<QueueText>),
            "Netem" => quantity("line for netem", "tc: netem delay 50ms", fault::<NetemText>),
            "CongestionControl" => quantity("congestion control", "cubic", fault::<Congestion>),
            "QueueLimit" => quantity("queue limit", "1 bdp", fault::<QueueLimit>),
            _ => None,
        }
    }
}

fn fault<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> Option<String> {
    text.parse::<T>().err().map(|error| error.to_string())
}
