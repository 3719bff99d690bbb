//! A path that loses, copies, reorders, cuts and joins by chance, and knows what it did.

use crate::world::{World, assert_conserved, data, ms, stamped};
use fairwind_analyse::one_way::OneWaySettings;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// What the path does to one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Passes,
    Lost,
    /// It comes this many milliseconds late.
    Late(u64),
    /// It comes again this many milliseconds later.
    Copied(u64),
    /// It is cut in so many parts, of which these (by bits) are lost.
    Cut(u32, u8),
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        8 => Just(Fate::Passes),
        2 => Just(Fate::Lost),
        1 => (1_u64..60).prop_map(Fate::Late),
        1 => (1_u64..60).prop_map(Fate::Copied),
        1 => (2_u32..6, any::<u8>()).prop_map(|(parts, lost)| Fate::Cut(parts, lost)),
    ]
}

/// Something that a tap sees: when, in which order, whether it departs, sequence, bytes, stamp.
type Event = (u64, usize, bool, u32, u32, u32);

/// What the path knows.
#[derive(Debug, Default, PartialEq, Eq)]
struct Truth {
    packets_lost: u64,
    bytes_lost: u64,
    copies: u64,
    copied_bytes: u64,
    ranges: u64,
}

/// A sender that sends `fates` packets, and everything again that did not come whole, 200 ms later.
fn events(fates: &[(u32, Fate)], is_stamped: bool) -> (Vec<Event>, Truth) {
    let (mut events, mut truth): (Vec<Event>, Truth) = (Vec::new(), Truth::default());
    let mut sequence = 1_000;
    let mut queue: BTreeMap<(u64, usize), (u32, u32, Fate)> = BTreeMap::new();
    for (number, &(bytes, fate)) in fates.iter().enumerate() {
        queue.insert((10 * u64::try_from(number).unwrap(), number), (sequence, bytes, fate));
        sequence += bytes;
    }
    let mut order = fates.len();
    while let Some(((at, number), (sequence, bytes, fate))) = queue.pop_first() {
        let stamp = if is_stamped { u32::try_from(at).unwrap() } else { 0 };
        events.push((at, number, true, sequence, bytes, stamp));
        let mut comes = |later: u64, from: u32, bytes: u32| {
            events.push((at + 40 + later, number, false, sequence + from, bytes, stamp));
        };
        order += 1;
        match fate {
            Fate::Passes => comes(0, 0, bytes),
            Fate::Late(later) => comes(later, 0, bytes),
            Fate::Copied(later) => {
                comes(0, 0, bytes);
                comes(later, 0, bytes);
                truth.copies += 1;
                truth.copied_bytes += u64::from(bytes);
            }
            Fate::Lost => {
                truth.packets_lost += 1;
                truth.bytes_lost += u64::from(bytes);
                queue.insert((at + 200, order), (sequence, bytes, Fate::Passes));
            }
            Fate::Cut(parts, lost) => {
                let parts = parts.min(bytes);
                let part = bytes.div_ceil(parts);
                let mut came = 0;
                let mut from = 0;
                while from < bytes {
                    let length = part.min(bytes - from);
                    if lost >> (from / part) & 1 == 0 {
                        comes(0, from, length);
                        came += 1;
                    } else {
                        truth.bytes_lost += u64::from(length);
                        queue.insert((at + 200, order), (sequence + from, length, Fate::Passes));
                        order += 1;
                    }
                    from += length;
                }
                truth.ranges += came;
                truth.packets_lost += u64::from(came == 0);
            }
        }
        truth.ranges += u64::from(!matches!(fate, Fate::Lost | Fate::Cut(..)));
    }
    events.sort_unstable();
    (events, truth)
}

proptest! {
    #[test]
    fn results_match_random_path(
        fates in proptest::collection::vec((1_u32..3_000, fate()), 1..60),
        is_stamped in any::<bool>(),
    ) {
        let mut world = World::new(OneWaySettings::default());
        let mut fates = fates;
        // Something passes before and behind, so that the end leaves nothing open.
        fates.insert(0, (100, Fate::Passes));
        fates.extend([(100, Fate::Passes); 60]);
        let (events, truth) = events(&fates, is_stamped);
        // Without timestamps a copy cannot be distinguished from another packet in flight.
        let is_told = is_stamped || truth.copies == 0;
        let mut in_order = 0;
        for (at, _, departs, sequence, bytes, stamp) in events {
            let packet = data(sequence, bytes);
            let packet = if is_stamped { stamped(packet, stamp) } else { packet };
            let end = if departs {
                world.sent(at, &packet).in_order_end
            } else {
                world.came(at, &packet).in_order_end
            };
            prop_assert!(end.is_none_or(|end| end > in_order));
            in_order = end.unwrap_or(in_order);
        }
        let sent: u64 = fates.iter().map(|(bytes, _)| u64::from(*bytes)).sum();
        prop_assert_eq!(in_order, sent, "everything came in the end");
        let (lost, report) = world.end();
        assert_conserved(&report);
        prop_assume!(is_told);
        prop_assert!(lost.iter().all(|lost| lost.at >= ms(0)));
        let found = [
            "packets_lost",
            "payload_bytes_lost",
            "packets_duplicated",
            "payload_bytes_duplicated",
            "ranges_received",
        ];
        let truth = [
            truth.packets_lost,
            truth.bytes_lost,
            truth.copies,
            truth.copied_bytes,
            truth.ranges,
        ];
        let truth = truth.map(|count| f64::from(u32::try_from(count).unwrap()));
        prop_assert_eq!(report.counts(found), truth);
        prop_assert_eq!(report.count("packets_unjudged"), 0.0);
    }
}
