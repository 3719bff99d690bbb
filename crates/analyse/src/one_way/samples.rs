//! Delay samples, stored until the clocks are known, in a temporary file if there are many.
//!
//! Before the last packet neither the smallest delay nor the drift of the clocks is known. So each sample is
//! stored as differences to the one before, about ten bytes per packet. Full blocks go to a temporary file,
//! each with the position of the flow's block before it.
//!
//! Where counting begins later than a flow, the samples before leave those that may be the smallest, whatever the
//! drift turns out to be: the corners of the lower convex hull of the delays over time.

use super::clock_drift::{lower_hull, real};
use super::clock_offset::signed_since;
use fairwind_units::Instant;
use std::io;
use std::io::{Read, Seek, SeekFrom, Write};
use tempfile::SpooledTempFile;

/// Bytes of a block in the file.
const BLOCK: usize = 2048;
const BLOCK_LENGTH: u64 = 2048;
/// Block header: position of the block before, and bytes in use.
const HEAD: usize = 10;
/// Longest encoding of a sample: a byte and five numbers.
const LONGEST: usize = 1 + 5 * 10;
/// Position in the file that stands for no block.
const NO_BLOCK: u64 = u64::MAX;
/// Delays that are collected before all but the smallest are discarded.
const CANDIDATES: usize = 4096;
/// Bytes kept in memory before the file is created.
const SAMPLES_IN_MEMORY: usize = 64 << 20;

/// Delay sample of a range of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sample {
    /// Departure of the copy that arrived.
    pub(super) departed: Instant,
    /// Nanoseconds to its arrival, by two clocks.
    pub(super) delay: i64,
    /// Nanoseconds from the first departure of the bytes to that of the copy.
    pub(super) repair: u64,
    /// Nanoseconds from arrival until all bytes before have arrived.
    pub(super) wait: u64,
    pub(super) bytes: u32,
    pub(super) layers: Layers,
}

/// Layers that a sample belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layers(u8);

impl Layers {
    /// None: the sample is only a bound of the smallest delay.
    pub(super) const NONE: Self = Self(0);
    /// Delay of a packet.
    pub(super) const NETWORK: Self = Self(1);
    /// First arrival of bytes.
    pub(super) const TRANSPORT: Self = Self(2);
    /// Delivery in order.
    pub(super) const APPLICATION: Self = Self(4);
    /// All layers.
    pub(super) const ALL: Self = Self(7);

    pub(super) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

const HAS_REPAIR: u8 = 8;
const HAS_WAIT: u8 = 16;
const SAME_BYTES: u8 = 32;

/// Samples of one flow.
#[derive(Debug, Clone, Default)]
pub(super) struct SampleLog {
    bytes: Vec<u8>,
    last: Last,
    /// Position of the last block in the file.
    chain: Option<u64>,
    /// The smallest uncorrected delay; `None` of samples that are read again from the file.
    pub(super) smallest: Option<i64>,
}

/// The last sample, from which differences count.
#[derive(Debug, Clone, Copy, Default)]
struct Last {
    departed: u64,
    delay: i64,
    bytes: u32,
}

impl SampleLog {
    /// The samples in the file; their last block is at `chain`.
    pub(super) fn spilled(chain: Option<u64>) -> Self {
        Self { chain, ..Self::default() }
    }

    /// Stores a sample; a full block goes to `spill`.
    #[inline]
    pub(super) fn record(&mut self, sample: &Sample, spill: &mut Spill) {
        if self.bytes.len() > BLOCK - HEAD - LONGEST {
            self.flush(spill);
        }
        if self.smallest.is_none_or(|known| sample.delay < known) {
            self.smallest = Some(sample.delay);
        }
        let departed = sample.departed.as_nanos();
        let is_same = sample.bytes == self.last.bytes;
        let tag = sample.layers.0
            | if sample.repair > 0 { HAS_REPAIR } else { 0 }
            | if sample.wait > 0 { HAS_WAIT } else { 0 }
            | if is_same { SAME_BYTES } else { 0 };
        let out = &mut self.bytes;
        out.push(tag);
        push(out, folded(departed.wrapping_sub(self.last.departed).cast_signed()));
        push(out, folded(sample.delay.wrapping_sub(self.last.delay)));
        if sample.repair > 0 {
            push(out, sample.repair);
        }
        if sample.wait > 0 {
            push(out, sample.wait);
        }
        if !is_same {
            push(out, sample.bytes.into());
        }
        self.last = Last { departed, delay: sample.delay, bytes: sample.bytes };
    }

    fn flush(&mut self, spill: &mut Spill) {
        self.chain = spill.write(self.chain, &self.bytes);
        self.bytes.clear();
        self.last = Last::default();
    }

    /// Writes all samples to the file; returns the position of the last block.
    pub(super) fn spill_all(mut self, spill: &mut Spill) -> Option<u64> {
        if !self.bytes.is_empty() {
            self.flush(spill);
        }
        self.chain
    }

    /// Passes every sample to `see`, in any order.
    pub(super) fn each(&self, spill: &mut Spill, mut see: impl FnMut(&Sample)) {
        let mut chain = self.chain;
        while let Some((before, block)) = chain.and_then(|place| spill.read(place)) {
            each_of(&block, &mut see);
            chain = before;
        }
        each_of(&self.bytes, &mut see);
    }

    /// Discards all samples but those that may be the smallest, which then count in no layer.
    pub(super) fn keep_minima(&mut self, spill: &mut Spill) {
        let log = std::mem::take(self);
        let (mut lowest, mut limit) = (Vec::new(), CANDIDATES);
        log.each(spill, |sample| {
            if lowest.len() >= limit {
                retain_lowest(&mut lowest);
                limit = CANDIDATES.max(2 * lowest.len());
            }
            lowest.push((sample.departed, sample.delay));
        });
        log.discard(spill);
        retain_lowest(&mut lowest);
        for (departed, delay) in lowest {
            let layers = Layers::NONE;
            self.record(&Sample { departed, delay, repair: 0, wait: 0, bytes: 0, layers }, spill);
        }
    }

    /// Frees the blocks in the file.
    pub(super) fn discard(self, spill: &mut Spill) {
        spill.release(self.chain);
    }
}

/// Retains the corners of the lower convex hull of delays over time: one of them is the smallest, whatever line is
/// subtracted.
fn retain_lowest(delays: &mut Vec<(Instant, i64)>) {
    delays.sort_unstable();
    let Some(&(begin, level)) = delays.first() else { return };
    *delays = lower_hull(delays, |&(departed, delay)| {
        (real(signed_since(departed, begin)), real(delay.wrapping_sub(level)))
    });
}

/// The temporary file.
#[derive(Debug)]
pub(super) struct Spill {
    file: SpooledTempFile,
    end: u64,
    /// Positions of free blocks.
    free: Vec<u64>,
    failed: Option<io::Error>,
}

impl Spill {
    pub(super) fn new() -> Self {
        Self {
            file: SpooledTempFile::new(SAMPLES_IN_MEMORY),
            end: 0,
            free: Vec::new(),
            failed: None,
        }
    }

    /// Records an error of the file.
    pub(super) fn fail(&mut self, error: io::Error) {
        self.failed.get_or_insert(error);
    }

    /// The first error; samples are lost after it.
    pub(super) const fn failed(&self) -> Option<&io::Error> {
        self.failed.as_ref()
    }

    fn write(&mut self, before: Option<u64>, bytes: &[u8]) -> Option<u64> {
        let mut block = [0; BLOCK];
        block[..8].copy_from_slice(&before.unwrap_or(NO_BLOCK).to_le_bytes());
        let length = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
        block[8..HEAD].copy_from_slice(&length.to_le_bytes());
        block[HEAD..HEAD + bytes.len()].copy_from_slice(bytes);
        let place = self.free.pop().unwrap_or(self.end);
        let written = self.file.seek(SeekFrom::Start(place));
        match written.and_then(|_| self.file.write_all(&block)) {
            Ok(()) => {
                self.end = self.end.max(place + BLOCK_LENGTH);
                Some(place)
            }
            Err(error) => {
                self.failed.get_or_insert(error);
                before
            }
        }
    }

    fn read(&mut self, place: u64) -> Option<(Option<u64>, Vec<u8>)> {
        let mut block = [0; BLOCK];
        let found = self.file.seek(SeekFrom::Start(place));
        if let Err(error) = found.and_then(|_| self.file.read_exact(&mut block)) {
            self.failed.get_or_insert(error);
            return None;
        }
        let before = u64::from_le_bytes(block[..8].try_into().ok()?);
        let length = u16::from_le_bytes(block[8..HEAD].try_into().ok()?);
        let bytes = block[HEAD..].get(..usize::from(length))?.to_vec();
        Some((block_at(before), bytes))
    }

    fn release(&mut self, mut chain: Option<u64>) {
        while let Some(place) = chain {
            self.free.push(place);
            chain = self.read(place).and_then(|(before, _)| before);
        }
    }
}

/// The block at a position that was read from a file.
fn block_at(position: u64) -> Option<u64> {
    (position != NO_BLOCK).then_some(position)
}

fn each_of(mut bytes: &[u8], see: &mut impl FnMut(&Sample)) {
    let mut last = Last::default();
    while let Some((sample, rest)) = next_of(bytes, &mut last) {
        see(&sample);
        bytes = rest;
    }
}

fn next_of<'a>(bytes: &'a [u8], last: &mut Last) -> Option<(Sample, &'a [u8])> {
    let (&tag, mut rest) = bytes.split_first()?;
    let mut number = || {
        let (number, behind) = pull(rest)?;
        rest = behind;
        Some(number)
    };
    let departed = last.departed.wrapping_add(unfolded(number()?).cast_unsigned());
    let delay = last.delay.wrapping_add(unfolded(number()?));
    let repair = if tag & HAS_REPAIR == 0 { 0 } else { number()? };
    let wait = if tag & HAS_WAIT == 0 { 0 } else { number()? };
    let bytes = if tag & SAME_BYTES == 0 { u32::try_from(number()?).ok()? } else { last.bytes };
    *last = Last { departed, delay, bytes };
    let layers = Layers(tag & Layers::ALL.0);
    let departed = Instant::from_nanos(departed);
    Some((Sample { departed, delay, repair, wait, bytes, layers }, rest))
}

/// Zigzag encoding: numbers near zero become small.
#[inline]
const fn folded(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)).cast_unsigned()
}

#[inline]
const fn unfolded(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -((number & 1).cast_signed())
}

/// Variable-length encoding: seven bits per byte, the lowest first.
#[inline]
fn push(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

#[inline]
fn pull(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0;
    for (place, &byte) in bytes.iter().enumerate().take(10) {
        number |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Some((number, &bytes[place + 1..]));
        }
    }
    None
}

/// Bytes kept in memory before the file is created.
const NAMES_IN_MEMORY: usize = 4 << 20;

/// A closed flow with its samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ClosedFlow {
    pub(super) group: u32,
    /// Tap of departure: 0 for the sender's, 1 for the receiver's.
    pub(super) tap: u8,
    pub(super) flow: u64,
    pub(super) name: String,
    /// Position of the last block of its samples in their file.
    pub(super) samples: Option<u64>,
}

/// Closed flows with delays that wait for the clocks, in a temporary file.
#[derive(Debug)]
pub(super) struct ClosedFlows {
    file: SpooledTempFile,
    written: u64,
    read: u64,
}

impl ClosedFlows {
    pub(super) fn new() -> Self {
        Self { file: SpooledTempFile::new(NAMES_IN_MEMORY), written: 0, read: 0 }
    }

    pub(super) fn put(&mut self, closed: &ClosedFlow) -> io::Result<()> {
        let mut record = Vec::with_capacity(64);
        let name = closed.name.as_bytes();
        let length = u32::try_from(name.len()).map_err(io::Error::other)?;
        record.extend(length.to_le_bytes());
        record.extend(closed.group.to_le_bytes());
        record.push(closed.tap);
        record.extend(closed.flow.to_le_bytes());
        record.extend(closed.samples.unwrap_or(NO_BLOCK).to_le_bytes());
        record.extend(name);
        self.file.write_all(&record)?;
        self.written += 1;
        Ok(())
    }

    /// The next flow in the order of `put`, which must not follow.
    pub(super) fn next(&mut self) -> io::Result<Option<ClosedFlow>> {
        if self.read == self.written {
            return Ok(None);
        }
        if self.read == 0 {
            self.file.seek(SeekFrom::Start(0))?;
        }
        self.read += 1;
        let length = u32::from_le_bytes(self.take()?);
        let group = u32::from_le_bytes(self.take()?);
        let [tap] = self.take()?;
        let flow = u64::from_le_bytes(self.take()?);
        let samples = block_at(u64::from_le_bytes(self.take()?));
        let mut name = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        self.file.read_exact(&mut name)?;
        let name = String::from_utf8(name).map_err(io::Error::other)?;
        Ok(Some(ClosedFlow { group, tap, flow, name, samples }))
    }

    fn take<const LENGTH: usize>(&mut self) -> io::Result<[u8; LENGTH]> {
        let mut bytes = [0; LENGTH];
        self.file.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample() -> impl Strategy<Value = Sample> {
        let small = |bits: u32| (any::<u64>(), 0..bits).prop_map(|(number, shift)| number >> shift);
        (any::<u64>(), any::<i64>(), small(64), small(64), any::<u32>(), 0_u8..8).prop_map(
            |(departed, delay, repair, wait, bytes, layers)| Sample {
                departed: Instant::from_nanos(departed),
                delay,
                repair,
                wait,
                bytes,
                layers: Layers(layers),
            },
        )
    }

    proptest! {
        #[test]
        fn spilled_values_are_read_back(
            samples in proptest::collection::vec(sample(), 0..300)
        ) {
            let mut spill = Spill::new();
            let mut log = SampleLog::default();
            for sample in &samples {
                log.record(sample, &mut spill);
            }
            let as_text = |samples: &[Sample]| {
                let mut lines: Vec<String> =
                    samples.iter().map(|sample| format!("{sample:?}")).collect();
                lines.sort();
                lines
            };
            let mut read = Vec::new();
            log.each(&mut spill, |sample| read.push(*sample));
            prop_assert_eq!(as_text(&read), as_text(&samples));
            let mut read = Vec::new();
            let log = SampleLog::spilled(log.spill_all(&mut spill));
            log.each(&mut spill, |sample| read.push(*sample));
            prop_assert_eq!(as_text(&read), as_text(&samples));
        }
    }

    proptest! {
        #[test]
        fn minima_are_kept_for_every_drift(
            delays in proptest::collection::vec((0..1_000_000_u64, -1_000_000..1_000_000_i64), 1..9_000),
            drift in -2_000..2_000_i64,
        ) {
            let mut spill = Spill::new();
            let mut log = SampleLog::default();
            for &(at, delay) in &delays {
                let departed = Instant::from_nanos(1_000 * at);
                let layers = Layers::ALL;
                log.record(&Sample { departed, delay, repair: 0, wait: 0, bytes: 9, layers }, &mut spill);
            }
            let smallest = |log: &SampleLog, spill: &mut Spill| {
                let (mut smallest, mut samples) = (i64::MAX, 0_usize);
                log.each(spill, |sample| {
                    let at = i64::try_from(sample.departed.as_nanos()).unwrap() / 1_000;
                    smallest = smallest.min(sample.delay - at * drift / 1_000);
                    samples += 1;
                });
                (smallest, samples)
            };
            let (expected, _) = smallest(&log, &mut spill);
            log.keep_minima(&mut spill);
            let (found, samples) = smallest(&log, &mut spill);
            prop_assert!((found - expected).abs() <= 1, "{found}, not {expected}");
            prop_assert!(samples <= delays.len().min(200), "{samples} of {}", delays.len());
            log.each(&mut spill, |sample| assert_eq!((sample.layers, sample.bytes), (Layers::NONE, 0)));
        }
    }

    #[test]
    fn room_in_the_file_is_used_again() {
        let mut spill = Spill::new();
        for _ in 0..10 {
            let mut log = SampleLog::default();
            for packet in 0..2_000 {
                let departed = Instant::from_millis(packet);
                let sample = Sample {
                    departed,
                    delay: 5,
                    repair: 0,
                    wait: 0,
                    bytes: 1448,
                    layers: Layers::ALL,
                };
                log.record(&sample, &mut spill);
            }
            log.discard(&mut spill);
        }
        assert!(spill.end < 16_000, "{} bytes", spill.end);
    }

    #[test]
    fn spilled_samples_return_in_order() {
        let mut closed_flows = ClosedFlows::new();
        let closed = |flow: u64, samples| ClosedFlow {
            group: 3,
            tap: 1,
            flow,
            name: format!("10.0.0.1:{flow}>10.0.0.2:80"),
            samples,
        };
        let all = [closed(1, Some(4096)), closed(2, None), closed(1 << 40, Some(0))];
        for one in &all {
            closed_flows.put(one).unwrap();
        }
        for one in all {
            assert_eq!(closed_flows.next().unwrap(), Some(one));
        }
        assert_eq!(closed_flows.next().unwrap(), None);
    }
}
