//! From 32-bit sequence numbers that wrap to 64-bit offsets in the stream that do not.
//!
//! Source: RFC 9293 §3.4. Offset 0 is the first payload byte, the number behind the SYN. A number
//! stands for the offset that lies nearest to one that is already known, which is right as long as
//! the two are less than 2^31 bytes apart.

use fairwind_wire::{Flags, Segment, SequenceNumber};

/// Where the stream's offset 0 lies in sequence space, once something has told.
#[derive(Debug, Clone, Copy, Default)]
pub struct StreamOrigin(Option<SequenceNumber>);

impl StreamOrigin {
    /// Takes the origin from a segment of the data sender: exactly from a SYN, and otherwise (a
    /// capture that begins in mid-stream) so that the stream begins with this segment.
    #[inline]
    pub fn learn(&mut self, segment: &Segment) {
        if self.0.is_none() {
            self.0 = Some(first_payload(segment));
        }
    }

    /// Offset behind the payload of `segment`, which lies near the offset `near`. Below zero for
    /// bytes before the origin.
    ///
    /// The origin must have been learned.
    #[inline]
    pub fn payload_end(self, segment: &Segment, near: u64) -> i64 {
        let origin = self.0.unwrap_or_else(|| first_payload(segment));
        unwrapped(origin, first_payload(segment) + segment.payload_bytes, near)
    }

    /// Offset that an acknowledgment number stands for, or `None` before anything was sent.
    #[inline]
    pub fn acknowledged(self, acknowledgment: SequenceNumber, near: u64) -> Option<i64> {
        self.0.map(|origin| unwrapped(origin, acknowledgment, near))
    }
}

#[inline]
fn first_payload(segment: &Segment) -> SequenceNumber {
    segment.sequence + u32::from(segment.flags.contains(Flags::SYN))
}

/// The offset nearest to `near` whose sequence number is `sequence`.
#[inline]
fn unwrapped(origin: SequenceNumber, sequence: SequenceNumber, near: u64) -> i64 {
    let low_bits = u32::try_from(near & u64::from(u32::MAX)).expect("masked to 32 bits");
    let distance = sequence.distance_from(origin + low_bits).cast_signed();
    near.cast_signed() + i64::from(distance)
}

/// `offset` as a place in the stream: what lies before the origin counts as its beginning.
#[inline]
pub(crate) fn clamped(offset: i64) -> u64 {
    offset.max(0).cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_offset_is_found_again_from_a_known_one_less_than_2_31_away(
            origin: u32, near in 0_u64..1 << 40, distance in -0x7fff_ffff_i64..0x7fff_ffff,
        ) {
            let offset = near.cast_signed() + distance;
            let bits = u32::try_from((offset & 0xffff_ffff).cast_unsigned()).unwrap();
            let origin = SequenceNumber::new(origin);
            prop_assert_eq!(unwrapped(origin, origin + bits, near), offset);
        }
    }

    #[test]
    fn the_byte_behind_the_syn_is_offset_zero() {
        let mut origin = StreamOrigin::default();
        let syn = Segment {
            flags: Flags::SYN,
            sequence: SequenceNumber::new(u32::MAX),
            ..Segment::default()
        };
        origin.learn(&syn);
        assert_eq!(origin.payload_end(&syn, 0), 0);
        assert_eq!(origin.acknowledged(SequenceNumber::new(0), 0), Some(0));
    }
}
