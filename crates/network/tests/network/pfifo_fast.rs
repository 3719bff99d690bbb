//! Bands of `pfifo_fast`, and the room in them.

use crate::flowing::{Flowing, PacketFate, before_a_link, log_of, packet};
use fairwind_network::Qdisc;
use fairwind_qdisc::PfifoFast;

fn pfifo_fast(limit_packets: u32) -> Qdisc {
    Qdisc::PfifoFast(PfifoFast { limit_packets })
}

/// Drops where `before` packets come at once, and then 30 more at each of these milliseconds.
fn drops(limit: u32, before: usize, later: &[u64]) -> Vec<usize> {
    let mut packets = vec![(0, packet(0, 1500, false)); before];
    packets.extend(later.iter().flat_map(|millis| vec![(*millis, packet(0, 1500, false)); 30]));
    let log = log_of(before_a_link(pfifo_fast(limit)), &packets);
    let dropped = log.millis(|entry| matches!(entry.fate, PacketFate::Dropped { .. }));
    let at = |millis: &u64| dropped.iter().filter(|at| *at == millis).count();
    std::iter::once(&0).chain(later).map(at).collect()
}

#[test]
fn slots_become_free_sixteen_at_a_time() {
    // The first packet leaves at once, and its slot stays taken; then one leaves each millisecond. The 16th leaves at 15 ms.
    assert_eq!(drops(40, 50, &[14, 16]), [10, 30, 14]);
    // At 38 ms one packet waits and seven slots are not yet free. All are free at the end of the ring, which the 40th packet
    // is; so ten of the next ones find room.
    assert_eq!(drops(40, 40, &[38, 39]), [0, 0, 20]);
}

#[test]
fn short_ring_frees_every_slot() {
    // Behind the first packet there is room for all 31.
    assert_eq!(drops(31, 32, &[5]), [0, 25]);
}

#[test]
fn urgent_band_goes_first_and_has_its_own_room() {
    let of = |flow, traffic_class| Flowing { traffic_class, ..packet(flow, 1500, false) };
    // Bulk, ordinary, interactive: bands 2, 1 and 0.
    let services = [(2, 0x08), (1, 0x00), (0, 0x10)];
    let mut packets = vec![(0, of(9, 0))];
    packets.extend(services.iter().flat_map(|(flow, service)| vec![(0, of(*flow, *service)); 4]));
    let log = log_of(before_a_link(pfifo_fast(3)), &packets);
    let flows = |is_dropped: bool| -> Vec<u32> {
        let is = |fate| matches!(fate, PacketFate::Dropped { .. }) == is_dropped;
        log.entries.iter().filter(|entry| is(entry.fate)).map(|entry| entry.flow).collect()
    };
    assert_eq!(flows(true), [2, 1, 0]);
    assert_eq!(flows(false), [9, 0, 0, 0, 1, 1, 1, 2, 2, 2]);
}
