//! Places in a stream: sequence numbers as 64-bit numbers that do not wrap.

use fairwind_wire::SequenceNumber;

/// The place of the first byte that was seen. Bytes before it have places too.
pub(super) const BASE: u64 = 1 << 32;

/// Where sequence numbers lie, relative to one whose place is known.
///
/// A number stands for the place nearest to the highest one seen (RFC 9293 §3.4: numbers less than 2^31
/// apart).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Places {
    anchor: Option<(SequenceNumber, u64)>,
}

impl Places {
    /// The place of `sequence`; the first number that is asked for is the beginning.
    #[inline]
    pub(super) fn place(&mut self, sequence: SequenceNumber) -> u64 {
        let (number, place) = *self.anchor.get_or_insert((sequence, BASE));
        let distance = sequence.distance_from(number).cast_signed();
        place.saturating_add_signed(i64::from(distance))
    }

    /// The place of `sequence`, where anything is known.
    #[inline]
    pub(super) fn known_place(self, sequence: SequenceNumber) -> Option<u64> {
        let (number, place) = self.anchor?;
        let distance = sequence.distance_from(number).cast_signed();
        Some(place.saturating_add_signed(i64::from(distance)))
    }

    /// The sequence number of `place`, where anything is known.
    pub(super) fn sequence(self, place: u64) -> Option<SequenceNumber> {
        let (number, known) = self.anchor?;
        // Modulo 2^32, as sequence numbers count.
        let distance = place.wrapping_sub(known) & u64::from(u32::MAX);
        Some(number + u32::try_from(distance).unwrap_or_default())
    }

    /// `sequence`, at `place`, is the highest so far.
    #[inline]
    pub(super) const fn advance(&mut self, sequence: SequenceNumber, place: u64) {
        self.anchor = Some((sequence, place));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_go_on_where_sequence_numbers_wrap() {
        let mut places = Places::default();
        let first = SequenceNumber::new(u32::MAX - 9);
        assert_eq!(places.place(first), BASE);
        assert_eq!(places.place(SequenceNumber::new(5)), BASE + 15);
        assert_eq!(places.place(first - 1), BASE - 1);
        assert_eq!(places.sequence(BASE + 15), Some(SequenceNumber::new(5)));
        assert_eq!(places.sequence(BASE - 1), Some(first - 1));
        let far = first + 0x7000_0000;
        places.advance(far, BASE + 0x7000_0000);
        assert_eq!(places.place(far + 0x7000_0000), BASE + 0xe000_0000);
    }
}
