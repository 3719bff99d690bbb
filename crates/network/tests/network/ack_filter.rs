//! Which acknowledgments CAKE's filter drops.

use crate::support::single_link;
use fairwind_network::{
    Backlog, DropReason, Header, LinkId, LinkSpec, Network, NodeId, Observer, Packet, Qdisc, TcpAck,
};
use fairwind_qdisc::{Cake, CakeAckFilter};
use fairwind_units::{BitRate, Instant, Span};

/// An acknowledgment of a connection, by its number.
#[derive(Debug, Clone, Copy)]
struct Acking {
    number: u32,
    connection: u32,
    ack: TcpAck,
    to: NodeId,
}

impl Packet for Acking {
    fn wire_bytes(&self) -> u32 {
        52
    }

    fn destination(&self) -> NodeId {
        self.to
    }

    fn header(&self) -> Header {
        Header { connection: self.connection, ..Header::default() }
    }

    fn tcp_ack(&self) -> Option<TcpAck> {
        Some(self.ack)
    }
}

/// Numbers of dropped packets.
#[derive(Default)]
struct Drops(Vec<u32>);

impl Observer<Acking> for Drops {
    fn on_drop(
        &mut self,
        _: Instant,
        _: LinkId,
        packet: &Acking,
        _: Backlog,
        _: DropReason,
        _: Option<Span>,
    ) {
        self.0.push(packet.number);
    }
}

/// A pure ACK of so many bytes.
fn ack(acknowledgment: u32) -> TcpAck {
    TcpAck { acknowledgment, is_pure: true, timestamps: Some((9, 9)), ..TcpAck::default() }
}

/// Numbers of the dropped ones of `acks`, all of which wait behind a packet of another connection that is being sent.
fn dropped_of(filter: CakeAckFilter, acks: &[(u32, TcpAck)]) -> Vec<u32> {
    let queue = Qdisc::Cake(Cake { ack_filter: filter, ..Cake::default() });
    let rate = Some(BitRate::from_bits_per_second(8_000_000));
    let (topology, from, to, _) = single_link(LinkSpec { rate, queue, ..LinkSpec::default() });
    let mut network: Network<Acking> = topology.build(1).expect("a sound topology");
    let mut drops = Drops::default();
    let first = Acking { number: 0, connection: 99, ack: ack(0), to };
    network.inject(Instant::ZERO, from, first, &mut drops);
    for (number, (connection, ack)) in (1..).zip(acks) {
        let packet = Acking { number, connection: *connection, ack: *ack, to };
        network.inject(Instant::ZERO, from, packet, &mut drops);
    }
    let mut delivered = 0;
    while network.next_delivery(Instant::MAX, &mut drops).is_some() {
        delivered += 1;
    }
    assert_eq!(delivered + drops.0.len(), acks.len() + 1);
    drops.0
}

/// The same where all are of one connection.
fn dropped(filter: CakeAckFilter, acks: &[TcpAck]) -> Vec<u32> {
    dropped_of(filter, &acks.iter().map(|ack| (1, *ack)).collect::<Vec<_>>())
}

const ON: CakeAckFilter = CakeAckFilter::On;
const AGGRESSIVE: CakeAckFilter = CakeAckFilter::Aggressive;

#[test]
fn oldest_of_two_needless_acks_is_dropped() {
    let acks = [10, 20, 30, 40].map(ack);
    assert_eq!(dropped(CakeAckFilter::Off, &acks), Vec::<u32>::new());
    // The third makes the first needless, the fourth the second.
    assert_eq!(dropped(ON, &acks), [1, 2]);
    assert_eq!(dropped(AGGRESSIVE, &acks), [1, 2, 3]);
}

#[test]
fn duplicate_acks_are_kept() {
    assert_eq!(dropped(AGGRESSIVE, &[10, 10, 10, 10].map(ack)), Vec::<u32>::new());
    assert_eq!(dropped(AGGRESSIVE, &[20, 10].map(ack)), Vec::<u32>::new());
}

#[test]
fn other_connections_do_not_make_acks_needless() {
    let acks = [(1, ack(10)), (2, ack(20)), (1, ack(30)), (2, ack(40))];
    assert_eq!(dropped_of(AGGRESSIVE, &acks), [1, 2]);
    let acks = [(1, ack(10)), (2, ack(20)), (3, ack(30)), (4, ack(40))];
    assert_eq!(dropped_of(AGGRESSIVE, &acks), Vec::<u32>::new());
}

#[test]
fn segments_with_payload_are_kept_but_make_acks_needless() {
    let data = |acknowledgment| TcpAck { is_pure: false, ..ack(acknowledgment) };
    assert_eq!(dropped(AGGRESSIVE, &[ack(10), data(20), data(30)]), [1]);
    assert_eq!(dropped(AGGRESSIVE, &[data(10), ack(20)]), Vec::<u32>::new());
}

#[test]
fn last_ack_with_its_marks_is_kept() {
    let echo = |acknowledgment| TcpAck { has_ece: true, ..ack(acknowledgment) };
    let reduced = |acknowledgment| TcpAck { has_cwr: true, ..ack(acknowledgment) };
    assert_eq!(dropped(AGGRESSIVE, &[ack(10), echo(20)]), Vec::<u32>::new());
    assert_eq!(dropped(AGGRESSIVE, &[echo(10), reduced(20)]), Vec::<u32>::new());
    assert_eq!(dropped(AGGRESSIVE, &[echo(10), echo(20)]), [1]);
    // A change forgets the one before it: of 10, 20 and 30 only 20 is followed by its like.
    assert_eq!(dropped(ON, &[ack(10), echo(20), echo(30), ack(40)]), [2]);
}

#[test]
fn selective_acknowledgments_are_lost_only_to_larger_ones() {
    let with = |acknowledgment, blocks: &[(u32, u32)]| {
        let mut sack = [None; 4];
        for (place, block) in sack.iter_mut().zip(blocks) {
            *place = Some(*block);
        }
        TcpAck { sack, ..ack(acknowledgment) }
    };
    // Duplicate ACKs with more and more blocks, as while a packet is missing.
    let growing = [with(10, &[(20, 30)]), with(10, &[(20, 40)]), with(10, &[(20, 50)])];
    assert_eq!(dropped(AGGRESSIVE, &growing), [1, 2]);
    assert_eq!(dropped(AGGRESSIVE, &[with(10, &[(20, 30)]), ack(40)]), Vec::<u32>::new());
    let apart = [with(10, &[(20, 30)]), with(10, &[(40, 70)])];
    assert_eq!(dropped(AGGRESSIVE, &apart), Vec::<u32>::new());
    // What was received twice is below the acknowledgment.
    assert_eq!(
        dropped(AGGRESSIVE, &[with(30, &[(20, 30)]), with(40, &[(20, 30), (50, 60)])]),
        Vec::<u32>::new()
    );
}

#[test]
fn later_time_stamps_are_kept() {
    let at = |acknowledgment, stamps| TcpAck { timestamps: Some(stamps), ..ack(acknowledgment) };
    assert_eq!(dropped(AGGRESSIVE, &[at(10, (5, 5)), at(20, (4, 5))]), Vec::<u32>::new());
    assert_eq!(dropped(AGGRESSIVE, &[at(10, (5, 5)), at(20, (5, 4))]), Vec::<u32>::new());
    assert_eq!(dropped(AGGRESSIVE, &[at(10, (5, 5)), at(20, (6, 5))]), [1]);
    // In sequence space, as the clock wraps around.
    assert_eq!(dropped(AGGRESSIVE, &[at(10, (u32::MAX, 5)), at(20, (3, 5))]), [1]);
}
