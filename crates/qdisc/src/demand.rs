//! Capacity that terminals share slot by slot, as they ask for it: DVB-RCS' demand assignment.
//!
//! Source: ETSI EN 301 790 for the categories of capacity; Gotta, Potorti and Secchi, IWSSC 2006, for the defaults,
//! which are those of Skyplex.

use fairwind_units::{BitRate, Ratio, Span};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A carrier: frames of slots that terminals share, and the master that assigns each slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Carrier {
    /// How long a frame lasts.
    pub frame: Span,
    /// Slots of a frame.
    pub slots: u32,
    /// Rate of one slot of every frame, IP packets with the link's overhead.
    pub slot_rate: BitRate,
    /// Time from one request of a terminal to its next.
    pub request_period: Span,
    /// Time from one plan of the master to its next.
    pub allocation_period: Span,
    /// Time that a request takes to the master, and a plan back.
    pub signalling_delay: Span,
    /// How long a requested rate holds unless it is requested again.
    pub request_lifetime: Span,
    /// When the first frame begins; less than a frame.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub frame_offset: Span,
    /// Which slots of a frame a terminal has of those that are assigned to it.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub placement: Placement,
}

/// Where in a frame a terminal's slots are.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Consecutive slots, so that packets leave in one burst per frame.
    #[default]
    Together,
    /// At equal distances, as far as others' slots allow.
    Spread,
}

/// Share of one terminal, and how it requests slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terminal {
    /// Slots of every frame that are its own (CRA), used or not.
    pub guaranteed_slots: u32,
    /// The most slots of a frame that it may have; 0 for all.
    pub most_slots: u32,
    /// Whether it gets a share of the slots that nobody requested (FCA).
    pub takes_free: bool,
    /// How it asks.
    pub requests: RequestPolicy,
}

/// When a terminal asks for how much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
pub enum RequestPolicy {
    /// It never asks.
    None,
    /// The rate at which packets came since the last request, times `multiplier` (RBDC).
    Rbdc {
        /// How many times the measured rate is asked for.
        multiplier: Ratio,
    },
    /// As RBDC, but multiplied only while a connection starts.
    RbdcStart {
        /// How many times the measured rate is asked for in the beginning.
        multiplier: Ratio,
        /// How long the beginning lasts.
        lasts: Span,
        /// A packet after so long without any is a beginning.
        idle: Span,
    },
    /// What waits and was not yet asked for; requests add up (VBDC).
    Vbdc,
    /// What waits, in the place of earlier requests (AVBDC).
    Avbdc,
    /// By rate and by volume at once: as RBDC, and as VBDC what then still waits and was not asked for.
    RbdcVbdc {
        /// How many times the measured rate is asked for.
        multiplier: Ratio,
    },
    /// The rate predicted for the time when the plan is in force, from the data sent one round trip before and
    /// from how packets followed it (RBDC).
    Forecast {
        /// From a packet's departure to those that its acknowledgment brings.
        round_trip: Span,
    },
}

/// Why there is no such carrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CarrierError {
    /// The key that is wrong, as scenarios call it.
    pub key: &'static str,
    /// The rule that it breaks.
    pub rule: &'static str,
    /// Which of the terminals breaks it, where one does.
    pub terminal: Option<usize>,
}

impl fmt::Display for CarrierError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.rule)
    }
}

/// The longest that a frame may have slots: beyond, their beginnings would not be nanoseconds apart.
const MOST_SLOTS: u32 = 1 << 20;

impl Default for Carrier {
    /// Skyplex: 48 slots of 44 kbit/s in frames of 273 ms, and five frames from request to request and from plan to
    /// plan together.
    fn default() -> Self {
        let frame = Span::from_millis(273);
        Self {
            frame,
            slots: 48,
            slot_rate: BitRate::from_bits_per_second(44_000),
            request_period: frame * 4,
            allocation_period: frame,
            signalling_delay: Span::from_millis(420),
            request_lifetime: frame * 8,
            frame_offset: Span::ZERO,
            placement: Placement::Together,
        }
    }
}

impl Default for Terminal {
    /// One slot, and RBDC for more.
    fn default() -> Self {
        Self {
            guaranteed_slots: 1,
            most_slots: 0,
            takes_free: false,
            requests: RequestPolicy::Rbdc { multiplier: Ratio::ONE },
        }
    }
}

impl Carrier {
    /// What a slot carries in bytes, rounded to the nearest.
    pub fn slot_bytes(&self) -> u32 {
        let bits =
            u128::from(self.slot_rate.as_bits_per_second()) * u128::from(self.frame.as_nanos());
        u32::try_from((bits + 4_000_000_000) / 8_000_000_000).unwrap_or(u32::MAX)
    }

    /// What all slots carry together.
    pub fn rate(&self) -> BitRate {
        let slots = u64::from(self.slots);
        BitRate::from_bits_per_second(self.slot_rate.as_bits_per_second().saturating_mul(slots))
    }

    /// Slots of every frame that carry `rate`, rounded up.
    pub fn slots_for(&self, rate: BitRate) -> u32 {
        let slots = rate.as_bits_per_second().div_ceil(self.slot_rate.as_bits_per_second().max(1));
        u32::try_from(slots).unwrap_or(u32::MAX)
    }

    /// Everything that is wrong with it and with what its terminals are promised.
    pub fn errors<'a>(&self, terminals: impl Iterator<Item = &'a Terminal>) -> Vec<CarrierError> {
        let mut errors = Vec::new();
        let mut hold = |holds: bool, key, rule| {
            if !holds {
                errors.push(CarrierError { key, rule, terminal: None });
            }
        };
        hold(!self.frame.is_zero(), "frame", "a frame must be longer than 0");
        hold(
            (1..=MOST_SLOTS).contains(&self.slots),
            "slots",
            "a frame must have 1 to 1048576 slots",
        );
        let has_slots = !self.frame.is_zero() && self.slots > 0;
        hold(
            !has_slots || self.frame.as_nanos() >= u64::from(self.slots),
            "slots",
            "a slot must last at least 1 ns",
        );
        hold(
            self.frame.is_zero() || self.slot_bytes() > 0,
            "slot_rate",
            "a slot must carry at least one byte per frame",
        );
        hold(
            self.frame.is_zero() || self.frame_offset < self.frame,
            "frame_offset",
            "it must be less than a frame",
        );
        hold(
            // Unless said, periods are frames.
            self.frame.is_zero() || !self.request_period.is_zero(),
            "request_period",
            "the request period must be above zero, for example four frames",
        );
        hold(
            self.frame.is_zero() || !self.allocation_period.is_zero(),
            "allocation_period",
            "the allocation period must be above zero, for example a frame",
        );
        hold(
            self.request_period.is_zero() || self.request_lifetime >= self.request_period,
            "request_lifetime",
            "a requested rate must hold until the next request: at least request_period",
        );
        errors.extend(self.errors_of_promises(terminals));
        errors
    }

    /// Errors of the guarantees for its terminals.
    fn errors_of_promises<'a>(
        &self,
        terminals: impl Iterator<Item = &'a Terminal>,
    ) -> Vec<CarrierError> {
        let key = "guaranteed_slots";
        let (mut errors, mut guaranteed) = (Vec::new(), 0_u64);
        for (index, terminal) in terminals.enumerate() {
            guaranteed += u64::from(terminal.guaranteed_slots);
            if terminal.most_slots != 0 && terminal.guaranteed_slots > terminal.most_slots {
                let rule = "it must not exceed most_slots, the limit of the terminal";
                errors.push(CarrierError { key, rule, terminal: Some(index) });
            }
        }
        if self.slots > 0 && guaranteed > u64::from(self.slots) {
            let rule = "the guaranteed slots of all terminals must fit into a frame";
            errors.push(CarrierError { key, rule, terminal: None });
        }
        errors
    }
}

impl Terminal {
    /// The most slots that it may have of a frame of `slots`.
    pub fn max_slots(&self, slots: u32) -> u32 {
        if self.most_slots == 0 { slots } else { self.most_slots.min(slots) }
    }
}

impl RequestPolicy {
    /// How many times a measured rate is asked for; `None` where no rate is measured.
    pub fn multiplier(&self) -> Option<Ratio> {
        match *self {
            Self::Rbdc { multiplier } | Self::RbdcStart { multiplier, .. } => Some(multiplier),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skyplex_defaults_have_2_mbit_capacity() {
        let skyplex = Carrier::default();
        assert_eq!(skyplex.slot_bytes(), 1502);
        assert_eq!(skyplex.rate().as_bits_per_second(), 2_112_000);
        assert_eq!(skyplex.slots_for(BitRate::from_bits_per_second(1_200_000)), 28);
        assert_eq!(skyplex.slots_for(BitRate::from_bits_per_second(88_000)), 2);
        assert_eq!(skyplex.errors([Terminal::default(); 48].iter()), []);
    }

    #[test]
    fn impossible_guarantees_are_named() {
        let keys = |carrier: Carrier, terminals: &[Terminal]| {
            carrier.errors(terminals.iter()).into_iter().map(|error| error.key).collect::<Vec<_>>()
        };
        let good = Carrier::default();
        assert_eq!(keys(good, &[Terminal::default(); 49]), ["guaranteed_slots"]);
        let narrow = Terminal { guaranteed_slots: 3, most_slots: 2, ..Terminal::default() };
        assert_eq!(keys(good, &[narrow]), ["guaranteed_slots"]);
        let second = good.errors([Terminal::default(), narrow].iter());
        assert_eq!(second[0].terminal, Some(1));
        assert_eq!(keys(Carrier { frame: Span::ZERO, ..good }, &[]), ["frame"]);
        let rare = Carrier { request_lifetime: Span::from_millis(1), ..good };
        assert_eq!(keys(rare, &[]), ["request_lifetime"]);
    }
}
