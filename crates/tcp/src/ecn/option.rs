//! Room for the `AccECN` option beside other options, and state of the peer's option.
//!
//! Source: RFC 9768 §3.2.3; Linux 7.3 `tcp_options_fit_accecn`, `tcp_accecn_option_init`.

use fairwind_wire::{AccurateEcn, CounterOrder, Ecn, Options};

/// Bytes of options that a header has room for.
const OPTION_SPACE: u32 = 40;
const SACK_BLOCK_BYTES: u32 = 8;

/// State of the peer's option, by the numbers of Linux (`TCP_ACCECN_OPT_*_SEEN`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum OptionSeen {
    /// None.
    #[default]
    NotSeen,
    /// One without counters.
    Empty,
    Counters,
    /// An option that the path has zeroed.
    Zeroed,
}

impl OptionSeen {
    /// State after the first option: counters of ECT packets begin with 1, so zeroing is visible.
    pub(super) fn first(option: &AccurateEcn) -> Self {
        let (first, last) = match option.order() {
            CounterOrder::Ect0First => (option.ect0(), option.ect1()),
            CounterOrder::Ect1First => (option.ect1(), option.ect0()),
        };
        match (first, last) {
            (None, _) => Self::Empty,
            (Some(0), _) | (_, Some(0)) => Self::Zeroed,
            _ => Self::Counters,
        }
    }

    pub(super) fn number(self) -> u32 {
        match self {
            Self::NotSeen => 0,
            Self::Empty => 1,
            Self::Counters => 2,
            Self::Zeroed => 3,
        }
    }
}

/// Room beside other options.
#[derive(Debug, Clone, Copy)]
pub(super) struct OptionRoom {
    bytes: u32,
    /// Padding bytes of other options that this option can use.
    padding: u32,
    /// SACK blocks among the other options.
    blocks: usize,
}

/// An option that has room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fit {
    fields: u8,
    bytes: u32,
    blocks: usize,
}

impl Fit {
    getters! {
        /// Counters.
        fields: u8,
        /// Bytes that the option adds, less those of removed SACK blocks.
        bytes: u32,
        /// SACK blocks that stay.
        blocks: usize,
    }
}

impl OptionRoom {
    /// Room beside `others` bytes of options, with `blocks` SACK blocks.
    pub(super) fn beside_blocks(others: u32, blocks: usize) -> Self {
        let padding = if blocks > 0 { 2 } else { 0 };
        Self { bytes: OPTION_SPACE.saturating_sub(others), padding, blocks }
    }

    /// Room beside the options of a SYN-ACK.
    pub(super) fn of_syn_ack(others: &Options) -> Self {
        let padding = if others.sack_permitted && others.timestamps.is_none() {
            2
        } else {
            u32::from(others.window_scale.is_some())
        };
        Self { bytes: OPTION_SPACE.saturating_sub(others.wire_bytes()), padding, blocks: 0 }
    }

    /// Counters up to that of a codepoint, in the order ECT(1), CE, ECT(0).
    pub(super) fn fields_for(mark: Ecn) -> u8 {
        match mark {
            Ecn::NotEct => 0,
            Ecn::Ect1 => 1,
            Ecn::Ce => 2,
            Ecn::Ect0 => 3,
        }
    }

    /// As many counters as fit, at least `least`; removes one of more than two SACK blocks if
    /// necessary.
    pub(super) fn fit(self, min: u8) -> Option<Fit> {
        let mut room = self;
        loop {
            let fields = (min..=AccurateEcn::MAX_FIELDS).rev();
            let mut sizes = fields.map(|fields| (fields, room.padded_bytes(fields)));
            if let Some((fields, bytes)) = sizes.find(|&(_, bytes)| bytes <= room.bytes) {
                let given = room.bytes - self.bytes;
                return Some(Fit {
                    fields,
                    bytes: bytes.saturating_sub(given),
                    blocks: room.blocks,
                });
            }
            if min == 0 || room.blocks <= 2 {
                return None;
            }
            room.blocks -= 1;
            room.bytes += SACK_BLOCK_BYTES;
        }
    }

    /// Bytes of an option with `fields` counters, in whole words except for the padding of others.
    fn padded_bytes(self, fields: u8) -> u32 {
        let bytes = 2 + 3 * u32::from(fields);
        if bytes % 4 > self.padding { bytes.next_multiple_of(4) } else { bytes & !3 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_counters_fit_beside_two_sack_blocks() {
        let fit = OptionRoom::beside_blocks(12 + 4 + 8 * 2, 2).fit(1).unwrap();
        assert_eq!((fit.fields(), fit.bytes(), fit.blocks()), (2, 8, 2));
    }

    #[test]
    fn grown_counters_displace_third_sack_block() {
        let full = OptionRoom::beside_blocks(12 + 4 + 8 * 3, 3);
        let fit = full.fit(2).unwrap();
        assert_eq!((fit.fields(), fit.bytes(), fit.blocks()), (2, 0, 2));
        assert_eq!(full.fit(3), None, "three counters have no room beside two blocks");
    }

    #[test]
    fn nops_of_a_syn_ack_are_used() {
        let options = Options { sack_permitted: true, mss: Some(1460), ..Options::NONE };
        let fit = OptionRoom::of_syn_ack(&options).fit(0).unwrap();
        assert_eq!((fit.fields(), fit.bytes()), (3, 12));
        let crowded = OptionRoom { bytes: 0, padding: 2, blocks: 0 };
        assert_eq!(crowded.fit(0).map(|fit| fit.fields()), Some(0));
    }
}
