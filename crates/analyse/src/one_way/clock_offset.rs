//! Offset between two clocks, estimated from packets that are in both captures.
//!
//! The offset is needed before packets can be merged by time. A packet that departs at the sender's tap shows
//! the offset plus its delay, one of the other direction the offset minus its delay. So the offset lies between
//! the smallest difference of the first and the largest of the second, and half-way between them if the path is
//! symmetric (D. Mills' clock filter, RFC 5905 §8). The differences also show which direction is which.
//!
//! Captures may begin at different times. So packets are sampled by a hash of their contents, the same in both
//! captures; the sample is halved whenever it becomes too large.

use fairwind_capture::Packet;
use fairwind_units::Instant;
use fairwind_wire::bytes::Addresses;
use fairwind_wire::{Flags, SackBlock, Segment, SequenceNumber, Timestamps};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Limit of packets remembered of both captures.
const MOST: usize = 1 << 17;

/// Packets found in both captures that are enough, without sampling. With sampling, the same share of this, but
/// [`FEWEST`].
const ENOUGH: u64 = 5_000;
const FEWEST: u64 = 500;

/// Addresses, source port and destination port.
type FlowKey = (Addresses, u16, u16);

/// Fields that no hop changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Fingerprint {
    ends: FlowKey,
    sequence: u32,
    acknowledgment: u32,
    flags: u16,
    window: u16,
    payload_bytes: u32,
    identification: Option<u16>,
    stamps: Option<(u32, u32)>,
    first_block: Option<(u32, u32)>,
}

impl Fingerprint {
    fn of(packet: &Packet) -> Self {
        let segment: &Segment = &packet.segment;
        let numbers = |one: SequenceNumber, two: SequenceNumber| (one.get(), two.get());
        let block = |block: &SackBlock| numbers(block.left, block.right);
        let stamps = |stamps: Timestamps| (stamps.value, stamps.echo);
        let has_blocks = !segment.flags.contains(Flags::SYN);
        Self {
            ends: (packet.addresses, segment.source_port, segment.destination_port),
            sequence: segment.sequence.get(),
            acknowledgment: segment.acknowledgment.get(),
            flags: segment.flags.bits(),
            window: segment.window,
            payload_bytes: segment.payload_bytes,
            identification: packet.identification,
            stamps: segment.options.timestamps.map(stamps),
            first_block: segment.options.sack.as_slice().first().filter(|_| has_blocks).map(block),
        }
    }
}

impl Fingerprint {
    /// Hash for sampling.
    fn rank(packet: &Packet) -> u64 {
        let segment = &packet.segment;
        let pair = |one: u32, two: u32| u64::from(one) << 32 | u64::from(two);
        let numbers = pair(segment.sequence.get(), segment.acknowledgment.get());
        mixed(numbers ^ mixed(pair(segment.flags.bits().into(), segment.payload_bytes)))
    }
}

/// The tap that has seen a packet.
#[derive(Debug, Clone, Copy)]
enum PacketTimes {
    Sender(Instant),
    Receiver(Instant),
    /// In both, or twice in one: no longer useful.
    Spent,
}

/// Differences of timestamps in one direction of a connection.
#[derive(Debug, Clone, Copy)]
struct DelayBounds {
    ends: FlowKey,
    smallest: i64,
    largest: i64,
}

/// Offset between two clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockOffset {
    /// Nanoseconds to subtract from the receiver's timestamps for the sender's clock.
    pub nanos: i64,
    /// Packets in both captures.
    pub packets: u64,
    /// Whether these were of both directions; otherwise the smallest delay counts as zero.
    pub is_symmetric: bool,
}

impl ClockOffset {
    /// The instant `at` of the receiver's clock on the sender's clock; not below zero.
    #[inline]
    pub const fn to_sender_clock(&self, at: Instant) -> Instant {
        let nanos = if self.nanos >= 0 {
            at.as_nanos().saturating_sub(self.nanos.unsigned_abs())
        } else {
            at.as_nanos().saturating_add(self.nanos.unsigned_abs())
        };
        Instant::from_nanos(nanos)
    }
}

/// The tap at which packets of each direction depart.
#[derive(Debug, Clone, Default)]
pub struct DepartureTaps {
    /// Whether at the sender's tap.
    departs_at_sender: HashMap<FlowKey, bool>,
}

impl DepartureTaps {
    /// Whether packets between these addresses and ports depart at the sender's tap; `None` if unknown.
    pub fn departs_at_sender(&self, addresses: Addresses, ports: (u16, u16)) -> Option<bool> {
        self.departs_at_sender.get(&(addresses, ports.0, ports.1)).copied()
    }
}

/// Estimator of the offset. It takes packets of both captures in turn, until it has enough.
#[derive(Debug, Clone, Default)]
pub struct ClockOffsetEstimator {
    /// Packets with their hash.
    sightings: HashMap<Fingerprint, (u64, PacketTimes)>,
    /// Halvings of the sample.
    halvings: u32,
    directions: Vec<DelayBounds>,
    offsets: HashMap<FlowKey, usize>,
    found: u64,
}

impl ClockOffsetEstimator {
    /// A packet of the sender's capture.
    pub fn on_sender_packet(&mut self, packet: &Packet) {
        self.see(packet, true);
    }

    /// A packet of the receiver's capture.
    pub fn on_receiver_packet(&mut self, packet: &Packet) {
        self.see(packet, false);
    }

    /// Packets found in both captures.
    pub const fn found(&self) -> u64 {
        self.found
    }

    /// Whether further packets would hardly improve the estimate.
    pub fn has_enough(&self) -> bool {
        self.found >= (ENOUGH >> self.halvings.min(63)).max(FEWEST)
    }

    #[inline]
    fn see(&mut self, packet: &Packet, is_sender: bool) {
        let rank = Fingerprint::rank(packet);
        if rank <= u64::MAX.checked_shr(self.halvings).unwrap_or(0) {
            self.compare_with_others(packet, rank, is_sender);
        }
    }

    fn compare_with_others(&mut self, packet: &Packet, rank: u64, is_sender: bool) {
        let mine = if is_sender {
            PacketTimes::Sender(packet.at)
        } else {
            PacketTimes::Receiver(packet.at)
        };
        let pair = match self.sightings.entry(Fingerprint::of(packet)) {
            Entry::Vacant(entry) => {
                entry.insert((rank, mine));
                if self.sightings.len() > MOST {
                    self.halve();
                }
                return;
            }
            Entry::Occupied(mut entry) => (entry.insert((rank, PacketTimes::Spent)).1, mine),
        };
        let ((PacketTimes::Sender(sent), PacketTimes::Receiver(received))
        | (PacketTimes::Receiver(received), PacketTimes::Sender(sent))) = pair
        else {
            return;
        };
        self.found += 1;
        let difference = signed_since(received, sent);
        let ends = (packet.addresses, packet.segment.source_port, packet.segment.destination_port);
        let place = *self.offsets.entry(ends).or_insert(self.directions.len());
        match self.directions.get_mut(place) {
            Some(known) => {
                known.smallest = known.smallest.min(difference);
                known.largest = known.largest.max(difference);
            }
            None => self.directions.push(DelayBounds {
                ends,
                smallest: difference,
                largest: difference,
            }),
        }
    }

    /// Halves the sample. Packets with equal fields are all kept or all dropped.
    #[cold]
    fn halve(&mut self) {
        self.halvings += 1;
        let highest = u64::MAX.checked_shr(self.halvings).unwrap_or(0);
        self.sightings.retain(|_, (rank, _)| *rank <= highest);
    }

    /// Compares the differences of a direction with those of the opposite one: delays add towards the
    /// receiver's tap, and subtract on the way back.
    fn compare(&self, direction: &DelayBounds) -> Option<Ordering> {
        let (addresses, source, destination) = direction.ends;
        let opposite = (addresses.reversed(), destination, source);
        let opposite = self.directions.get(*self.offsets.get(&opposite)?)?;
        let middle = |known: &DelayBounds| i128::from(known.smallest) + i128::from(known.largest);
        Some(middle(direction).cmp(&middle(opposite)))
    }

    /// The taps of departure, for connections with packets of both directions in both captures.
    pub fn departure_taps(&self) -> DepartureTaps {
        let lost_packets = self.directions.iter().filter_map(|direction| {
            let order = self.compare(direction).filter(|order| order.is_ne())?;
            Some((direction.ends, order.is_gt()))
        });
        DepartureTaps { departs_at_sender: lost_packets.collect() }
    }

    /// Whether both captures may share a clock: nothing arrives before it departs.
    pub fn fits_one_clock(&self) -> bool {
        let (above, below) = self.bounds();
        above.is_none_or(|least| least >= 0) && below.is_none_or(|most| most <= 0)
    }

    /// The offset; `None` if no packet is in both captures.
    pub fn estimate(&self) -> Option<ClockOffset> {
        let (nanos, is_symmetric) = match self.bounds() {
            (Some(above), Some(below)) => (midpoint(above, below), true),
            _ => (self.directions.iter().map(|known| known.smallest).min()?, false),
        };
        Some(ClockOffset { nanos, packets: self.found, is_symmetric })
    }

    /// Bounds of the offset: the smallest difference of packets that depart at the sender's tap, and the
    /// largest of packets that arrive there.
    fn bounds(&self) -> (Option<i64>, Option<i64>) {
        let (mut above, mut below) = (None::<i64>, None::<i64>);
        for direction in &self.directions {
            match self.compare(direction) {
                Some(Ordering::Greater) => {
                    let least = direction.smallest;
                    above = Some(above.map_or(least, |known| known.min(least)));
                }
                Some(_) => {
                    let most = direction.largest;
                    below = Some(below.map_or(most, |known| known.max(most)));
                }
                None => {}
            }
        }
        (above, below)
    }
}

/// The finaliser of `SplitMix64` (Steele, Lea, Flood 2014).
const fn mixed(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

fn midpoint(one: i64, two: i64) -> i64 {
    i64::try_from(i128::midpoint(one.into(), two.into())).unwrap_or(one)
}

/// Nanoseconds from `earlier` to `later`; may be negative.
#[inline]
pub(super) const fn signed_since(later: Instant, earlier: Instant) -> i64 {
    later.as_nanos().wrapping_sub(earlier.as_nanos()).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn packet(at: u64, is_forward: bool, sequence: u32) -> Packet {
        let there = Addresses::V4 {
            source: Ipv4Addr::new(10, 0, 0, 1),
            destination: Ipv4Addr::new(10, 0, 0, 2),
        };
        let (source_port, destination_port) = if is_forward { (4000, 80) } else { (80, 4000) };
        Packet {
            at: Instant::from_millis(at),
            addresses: if is_forward { there } else { there.reversed() },
            segment: Segment {
                source_port,
                destination_port,
                sequence: SequenceNumber::new(sequence),
                ..Segment::default()
            },
            ..Packet::EMPTY
        }
    }

    /// Delays of 30 ms in both directions; the receiver's clock is `ahead` milliseconds.
    fn finder(ahead: i64) -> ClockOffsetEstimator {
        let mut finder = ClockOffsetEstimator::default();
        for sequence in 0..10_u32 {
            let queue = u64::from(sequence % 3 * 5);
            let at = 10_000 + u64::from(sequence) * 10;
            finder.on_sender_packet(&packet(at, true, sequence));
            let there = (at + 30 + queue).saturating_add_signed(ahead);
            finder.on_receiver_packet(&packet(there, true, sequence));
            finder.on_receiver_packet(&packet(there, false, sequence));
            finder.on_sender_packet(&packet(at + 60 + 2 * queue, false, sequence));
        }
        finder
    }

    #[test]
    fn offset_is_midway_between_floors_of_both_directions() {
        for ahead in [0, 250, -1_600] {
            let estimate = finder(ahead).estimate().unwrap();
            assert_eq!(estimate.nanos, ahead * 1_000_000);
            assert_eq!((estimate.packets, estimate.is_symmetric), (20, true));
            let there = Instant::from_millis(5_000_u64.saturating_add_signed(ahead));
            assert_eq!(estimate.to_sender_clock(there), Instant::from_millis(5_000));
        }
    }

    #[test]
    fn shared_clock_has_no_negative_delay() {
        for (ahead, fits) in [(0, true), (29, true), (250, false), (-1_600, false)] {
            assert_eq!(finder(ahead).fits_one_clock(), fits, "{ahead} ms ahead");
        }
    }

    #[test]
    fn single_direction_has_smallest_delay_of_zero() {
        let mut finder = ClockOffsetEstimator::default();
        for (sequence, delay) in [(1, 40), (2, 35), (3, 90)] {
            finder.on_sender_packet(&packet(1_000, true, sequence));
            finder.on_receiver_packet(&packet(1_000 + delay, true, sequence));
        }
        let estimate = finder.estimate().unwrap();
        assert_eq!((estimate.nanos, estimate.is_symmetric), (35_000_000, false));
    }

    #[test]
    fn offset_uses_packets_of_both_captures_only() {
        let mut finder = ClockOffsetEstimator::default();
        // The receiver's capture begins after 200 000 packets, and ends much later.
        let sent = |sequence: u32| packet(1_000 + u64::from(sequence), true, sequence * 100);
        let came = |sequence: u32| packet(61_030 + u64::from(sequence), true, sequence * 100);
        let mut looked_at = 0;
        for step in 0..300_000_u32 {
            finder.on_sender_packet(&sent(step));
            finder.on_receiver_packet(&came(200_000 + step));
            assert!(finder.sightings.len() <= MOST);
            if finder.has_enough() {
                looked_at = step;
                break;
            }
        }
        let estimate = finder.estimate().unwrap();
        assert_eq!((estimate.nanos, estimate.is_symmetric), (60_030_000_000, false));
        assert!(looked_at > 200_000 && finder.halvings > 0, "{looked_at} packets of each");
    }

    #[test]
    fn duplicated_packets_do_not_set_offset() {
        let mut finder = ClockOffsetEstimator::default();
        finder.on_sender_packet(&packet(1_000, true, 7));
        finder.on_sender_packet(&packet(1_100, true, 7));
        finder.on_receiver_packet(&packet(1_150, true, 7));
        assert_eq!(finder.estimate(), None);
    }
}
