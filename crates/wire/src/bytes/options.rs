//! TCP options (RFC 9293 §3.1) as bytes, in the layout of `Options::wire_bytes`.

use super::parse::ParseError;
use crate::{Options, SackBlock, SequenceNumber, Timestamps};

const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

/// Appends the options to `out`; `options.wire_bytes()` bytes.
pub(super) fn append_options(options: &Options, out: &mut Vec<u8>) {
    if let Some(mss) = options.mss {
        out.extend_from_slice(&[MSS, 4]);
        out.extend_from_slice(&mss.to_be_bytes());
    }
    // SACK-permitted fills the place of the two NOPs that align bare timestamps.
    match (options.sack_permitted, options.timestamps) {
        (true, Some(_)) => out.extend_from_slice(&[SACK_PERMITTED, 2]),
        (true, None) => out.extend_from_slice(&[NOP, NOP, SACK_PERMITTED, 2]),
        (false, Some(_)) => out.extend_from_slice(&[NOP, NOP]),
        (false, None) => {}
    }
    if let Some(timestamps) = options.timestamps {
        out.extend_from_slice(&[TIMESTAMPS, 10]);
        out.extend_from_slice(&timestamps.value.to_be_bytes());
        out.extend_from_slice(&timestamps.echo.to_be_bytes());
    }
    if let Some(shift) = options.window_scale {
        out.extend_from_slice(&[NOP, WINDOW_SCALE, 3, shift]);
    }
    append_sack(options.sack.as_slice(), out);
}

fn append_sack(blocks: &[SackBlock], out: &mut Vec<u8>) {
    if blocks.is_empty() {
        return;
    }
    let length = u8::try_from(2 + 8 * blocks.len()).expect("at most four blocks");
    out.extend_from_slice(&[NOP, NOP, SACK, length]);
    for block in blocks {
        out.extend_from_slice(&block.left.get().to_be_bytes());
        out.extend_from_slice(&block.right.get().to_be_bytes());
    }
}

/// Reads the options area of a header, in any order; unknown kinds are skipped, and of a kind that
/// stands there twice the last counts (SACK blocks add up).
pub(super) fn read_options(area: &[u8]) -> Result<Options, ParseError> {
    let mut options = Options::NONE;
    let mut rest = area;
    while let Some((&kind, behind_kind)) = rest.split_first() {
        match kind {
            END => break,
            NOP => rest = behind_kind,
            _ => {
                let length = behind_kind.first().copied().unwrap_or(0);
                let malformed = || ParseError::OptionLength { kind, length };
                let option = rest.get(..usize::from(length)).ok_or_else(malformed)?;
                let value = option.get(2..).ok_or_else(malformed)?;
                read_option(kind, value, &mut options).ok_or_else(malformed)?;
                rest = &rest[usize::from(length)..];
            }
        }
    }
    Ok(options)
}

/// Reads one option's value; `None` where its length is not that of its kind.
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
        _ => {}
    }
    Some(())
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
        // Forty bytes of options have no room for a fifth block.
        options.sack.push(block);
    }
    Some(())
}

fn two_numbers(bytes: [u8; 8]) -> (u32, u32) {
    let both = u64::from_be_bytes(bytes);
    let half = |bits: u64| u32::try_from(bits & 0xffff_ffff).expect("32 bits are left");
    (half(both >> 32), half(both))
}
