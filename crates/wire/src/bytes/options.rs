//! TCP options (RFC 9293 §3.1) as bytes, in the layout of `Options::wire_bytes`.

use super::reader::ParseError;
use crate::{
    AccurateEcn, Cookie, CounterOrder, FastOpen, FastOpenKind, Options, SackBlock, SequenceNumber,
    Timestamps,
};

const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const FAST_OPEN: u8 = 34;
const ACCURATE_ECN_0: u8 = 172;
const ACCURATE_ECN_1: u8 = 174;
const EXPERIMENT: u8 = 254;
/// Magic number of experimental Fast Open (RFC 6994).
const FAST_OPEN_MAGIC: [u8; 2] = [0xf9, 0x89];

/// Appends the options to `out`; `options.wire_bytes()` bytes.
pub fn append_options(options: &Options, out: &mut Vec<u8>) {
    if let Some(mss) = options.mss {
        out.extend_from_slice(&[MSS, 4]);
        out.extend_from_slice(&mss.to_be_bytes());
    }
    // SACK-permitted fills the place of the two NOPs that align bare timestamps.
    let filler = if options.sack_permitted { [SACK_PERMITTED, 2] } else { [NOP, NOP] };
    if let Some(timestamps) = options.timestamps {
        out.extend_from_slice(&filler);
        out.extend_from_slice(&[TIMESTAMPS, 10]);
        out.extend_from_slice(&timestamps.value.to_be_bytes());
        out.extend_from_slice(&timestamps.echo.to_be_bytes());
    }
    let mut leftover = Leftover::None;
    if let Some(counters) = &options.accurate_ecn {
        leftover = append_accurate_ecn(counters, out);
    }
    if options.sack_permitted && options.timestamps.is_none() {
        out.extend_from_slice(&leftover.take());
        out.extend_from_slice(&[SACK_PERMITTED, 2]);
    }
    if let Some(shift) = options.window_scale {
        out.extend_from_slice(&[leftover.take_single(), WINDOW_SCALE, 3, shift]);
    }
    append_sack(options.sack.as_slice(), &mut leftover, out);
    if leftover != Leftover::None {
        out.extend_from_slice(&leftover.take());
        out.extend_from_slice(&[NOP, NOP]);
    }
    if let Some(fast_open) = options.fast_open() {
        append_fast_open(&fast_open, out);
    }
}

/// Trailing bytes of Accurate ECN after its whole words; they replace the NOPs of a later option (Linux
/// `tcp_options_write`, `leftover_bytes`).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leftover {
    None,
    One(u8),
    Two([u8; 2]),
}

impl Leftover {
    /// The bytes for a gap of two bytes.
    fn take(&mut self) -> [u8; 2] {
        match std::mem::replace(self, Self::None) {
            Self::None => [NOP, NOP],
            Self::One(byte) => [byte, NOP],
            Self::Two(bytes) => bytes,
        }
    }

    /// The byte for a gap of one byte; two stay.
    fn take_single(&mut self) -> u8 {
        let Self::One(byte) = *self else { return NOP };
        *self = Self::None;
        byte
    }
}

/// Appends whole words of the option, and returns the trailing bytes.
fn append_accurate_ecn(option: &AccurateEcn, out: &mut Vec<u8>) -> Leftover {
    let kind = match option.order() {
        CounterOrder::Ect0First => ACCURATE_ECN_0,
        CounterOrder::Ect1First => ACCURATE_ECN_1,
    };
    let length = u8::try_from(option.option_bytes()).expect("at most 11 bytes");
    let value = option.value();
    match *value {
        [] => Leftover::Two([kind, length]),
        [high, middle, low] => {
            out.extend_from_slice(&[kind, length, high, middle]);
            Leftover::One(low)
        }
        _ => {
            out.extend_from_slice(&[kind, length]);
            out.extend_from_slice(value);
            out.resize(out.len() + value.len() % 2, NOP);
            Leftover::None
        }
    }
}

fn append_fast_open(option: &FastOpen, out: &mut Vec<u8>) {
    let length = u8::try_from(option.option_bytes()).expect("at most 20 bytes");
    match option.kind {
        FastOpenKind::Assigned => out.extend_from_slice(&[FAST_OPEN, length]),
        FastOpenKind::Experimental => {
            out.extend_from_slice(&[EXPERIMENT, length]);
            out.extend_from_slice(&FAST_OPEN_MAGIC);
        }
    }
    out.extend_from_slice(option.cookie.as_slice());
    let padding = length.next_multiple_of(4) - length;
    out.resize(out.len() + usize::from(padding), NOP);
}

fn append_sack(blocks: &[SackBlock], leftover: &mut Leftover, out: &mut Vec<u8>) {
    if blocks.is_empty() {
        return;
    }
    let length = u8::try_from(2 + 8 * blocks.len()).expect("at most four blocks");
    out.extend_from_slice(&leftover.take());
    out.extend_from_slice(&[SACK, length]);
    for block in blocks {
        out.extend_from_slice(&block.left.get().to_be_bytes());
        out.extend_from_slice(&block.right.get().to_be_bytes());
    }
}

/// Reads the options of a header, in any order. Unknown kinds are skipped; of a repeated kind the last
/// one counts (SACK blocks add up).
///
/// # Errors
/// If an option has a wrong length for its kind.
pub fn read_options(area: &[u8]) -> Result<Options, ParseError> {
    let mut options = Options::NONE;
    read_options_into(area, &mut options)?;
    Ok(options)
}

/// As [`read_options`], into an existing value, which is undefined after an error.
///
/// # Errors
/// If an option has a wrong length for its kind.
#[inline]
pub fn read_options_into(area: &[u8], options: &mut Options) -> Result<(), ParseError> {
    *options = Options::NONE;
    if area.is_empty() || read_aligned_timestamps(area, options) {
        return Ok(());
    }
    read_each(area, options)
}

/// Fast path for the layout of nearly every segment without SYN: two NOPs and timestamps, optionally two
/// NOPs and SACK blocks (RFC 7323, appendix A). Returns `false` for other layouts.
#[inline]
fn read_aligned_timestamps(area: &[u8], options: &mut Options) -> bool {
    let Some((&[NOP, NOP, TIMESTAMPS, 10, ref numbers @ ..], rest)) =
        area.split_first_chunk::<12>()
    else {
        return false;
    };
    if !rest.is_empty() {
        let Some((&[NOP, NOP, SACK, length], blocks)) = rest.split_first_chunk::<4>() else {
            return false;
        };
        if usize::from(length) != blocks.len() + 2 || read_sack(blocks, options).is_none() {
            return false;
        }
    }
    let (value, echo) = two_numbers(*numbers);
    options.timestamps = Some(Timestamps { value, echo });
    true
}

/// Reads any options in any order.
fn read_each(area: &[u8], options: &mut Options) -> Result<(), ParseError> {
    let mut rest = area;
    while let Some((&kind, after_kind)) = rest.split_first() {
        match kind {
            END => break,
            NOP => rest = after_kind,
            _ => {
                let length = after_kind.first().copied().unwrap_or(0);
                let malformed = || ParseError::OptionLength { kind, length };
                let option = rest.get(..usize::from(length)).ok_or_else(malformed)?;
                let value = option.get(2..).ok_or_else(malformed)?;
                read_option(kind, value, options).ok_or_else(malformed)?;
                rest = &rest[usize::from(length)..];
            }
        }
    }
    Ok(())
}

/// Reads one option's value; `None` if its length is wrong for its kind.
fn read_option(kind: u8, value: &[u8], options: &mut Options) -> Option<()> {
    match kind {
        MSS => options.mss = Some(u16::from_be_bytes(value.try_into().ok()?)),
        WINDOW_SCALE => {
            let [shift] = <[u8; 1]>::try_from(value).ok()?;
            options.window_scale = Some(shift);
        }
        SACK_PERMITTED => {
            let [] = <[u8; 0]>::try_from(value).ok()?;
            options.sack_permitted = true;
        }
        TIMESTAMPS => {
            let (value, echo) = two_numbers(value.try_into().ok()?);
            options.timestamps = Some(Timestamps { value, echo });
        }
        SACK => read_sack(value, options)?,
        FAST_OPEN => read_fast_open(FastOpenKind::Assigned, value, options),
        EXPERIMENT => {
            if let Some(cookie) = value.strip_prefix(&FAST_OPEN_MAGIC) {
                read_fast_open(FastOpenKind::Experimental, cookie, options);
            }
        }
        ACCURATE_ECN_0 => {
            options.accurate_ecn = Some(AccurateEcn::from_value(CounterOrder::Ect0First, value));
        }
        ACCURATE_ECN_1 => {
            options.accurate_ecn = Some(AccurateEcn::from_value(CounterOrder::Ect1First, value));
        }
        _ => {}
    }
    Some(())
}

/// Reads a cookie or a cookie request; ignores anything else, and any beside SACK blocks (Linux
/// `tcp_parse_fastopen_option`).
fn read_fast_open(kind: FastOpenKind, value: &[u8], options: &mut Options) {
    let Some(cookie) = Cookie::new(value) else { return };
    if (cookie.is_empty() || cookie.is_well_formed()) && options.sack.is_empty() {
        *options = options.with_fast_open(&FastOpen { kind, cookie });
    }
}

fn read_sack(value: &[u8], options: &mut Options) -> Option<()> {
    let (blocks, rest) = value.as_chunks::<8>();
    if blocks.is_empty() || !rest.is_empty() {
        return None;
    }
    for block in blocks {
        let (left, right) = two_numbers(*block);
        let block =
            SackBlock { left: SequenceNumber::new(left), right: SequenceNumber::new(right) };
        // Forty bytes of options cannot hold a fifth block.
        options.sack.push(block);
    }
    Some(())
}

fn two_numbers(bytes: [u8; 8]) -> (u32, u32) {
    let both = u64::from_be_bytes(bytes);
    let half = |bits: u64| u32::try_from(bits & 0xffff_ffff).expect("32 bits are left");
    (half(both >> 32), half(both))
}

#[cfg(test)]
mod tests {
    use super::{Options, read_aligned_timestamps, read_each};
    use proptest::prelude::*;

    /// Option areas: aligned, nearly aligned, or arbitrary.
    fn areas() -> impl Strategy<Value = Vec<u8>> {
        let blocks = (0_usize..4, any::<[u8; 32]>()).prop_map(|(blocks, bytes)| {
            let length = u8::try_from(2 + 8 * blocks).unwrap();
            [&[1, 1, 5, length], &bytes[..8 * blocks]].concat()
        });
        let behind =
            prop_oneof![Just(Vec::new()), blocks, proptest::collection::vec(0..9_u8, 0..28)];
        let usual = (any::<[u8; 8]>(), behind)
            .prop_map(|(numbers, behind)| [&[1, 1, 8, 10], &numbers[..], &behind].concat());
        let change = (usual.clone(), any::<(prop::sample::Index, u8)>()).prop_map(
            |(mut area, (place, byte))| {
                let place = place.index(area.len());
                area[place] = byte;
                area
            },
        );
        prop_oneof![usual, change, proptest::collection::vec(any::<u8>(), 0..40)]
    }

    proptest! {
        #[test]
        fn fast_path_reads_aligned_options_alike(area in areas()) {
            let (mut aligned, mut general) = (Options::NONE, Options::NONE);
            if read_aligned_timestamps(&area, &mut aligned) {
                read_each(&area, &mut general).unwrap();
                prop_assert_eq!(aligned, general);
            } else {
                prop_assert_eq!(aligned.timestamps, None);
            }
        }
    }
}
