//! What the hosts of an experiment write into datagrams.
//!
//! The instant of the write stands in the first eight bytes, or, where there are only four, the lowest bits of
//! it. So whoever reads a datagram knows how long it took, whatever happened to others. One that is shorter says
//! nothing. In the next eight bytes is its number in its stream: copies that the network makes of it are known by
//! that, and datagrams that never left their host.

use fairwind_units::Instant;

/// The unit of short stamps: 2^4 ns, so that 32 bits reach for 68 s.
const SHORT_UNIT_BITS: u32 = 4;

/// Writes down when a datagram is written, and which one of its stream it is.
pub(super) fn stamp(payload: &mut [u8], at: Instant, number: u64) {
    let nanos = at.as_nanos();
    if let Some(both) = payload.first_chunk_mut::<16>() {
        both[8..].copy_from_slice(&number.to_ne_bytes());
    }
    if let Some(whole) = payload.first_chunk_mut::<8>() {
        *whole = nanos.to_ne_bytes();
    } else if let Some(short) = payload.first_chunk_mut::<4>() {
        *short = low_half(nanos >> SHORT_UNIT_BITS).to_ne_bytes();
    }
}

/// Which one of its stream a datagram is, as far as it says so.
pub fn number_of(payload: &[u8]) -> Option<u64> {
    let number = payload.first_chunk::<16>()?.last_chunk::<8>()?;
    Some(u64::from_ne_bytes(*number)).filter(|&number| number != u64::MAX)
}

/// When a datagram that is read `now` was written, as far as it says so.
pub(super) fn written_at(payload: &[u8], now: Instant) -> Option<Instant> {
    if let Some(whole) = payload.first_chunk::<8>() {
        return Some(Instant::from_nanos(u64::from_ne_bytes(*whole)));
    }
    let short = u32::from_ne_bytes(*payload.first_chunk::<4>()?);
    let units = now.as_nanos() >> SHORT_UNIT_BITS;
    let age = low_half(units).wrapping_sub(short);
    Some(Instant::from_nanos(units.saturating_sub(age.into()) << SHORT_UNIT_BITS))
}

fn low_half(number: u64) -> u32 {
    u32::try_from(number & u64::from(u32::MAX)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwind_units::Span;

    #[test]
    fn a_datagram_tells_when_it_was_written_as_exactly_as_it_has_room() {
        let written = Instant::from_nanos(5_000_000_000_013);
        let now = written + Span::from_secs(60);
        for (length, expected) in [
            (100, Some(5_000_000_000_013)),
            (8, Some(5_000_000_000_013)),
            (7, Some(5_000_000_000_000)),
            (4, Some(5_000_000_000_000)),
            (3, None),
            (0, None),
        ] {
            let mut payload = vec![0; length];
            stamp(&mut payload, written, 7);
            let told = written_at(&payload, now).map(Instant::as_nanos);
            assert_eq!(told, expected, "{length} bytes");
        }
    }

    #[test]
    fn a_datagram_with_room_for_it_tells_its_number() {
        for (length, expected) in [(1472, Some(1 << 40)), (16, Some(1 << 40)), (15, None)] {
            let mut payload = vec![0; length];
            stamp(&mut payload, Instant::from_secs(1), 1 << 40);
            assert_eq!(number_of(&payload), expected, "{length} bytes");
        }
    }
}
