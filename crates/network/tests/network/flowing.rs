//! Packets of flows, and an observer that records their fate.

use fairwind_network::{
    Backlog, DropReason, Header, LinkId, LinkSpec, Network, NodeId, Observer, Packet, Qdisc,
};
use fairwind_units::{BitRate, Instant, Span};

/// A packet of a flow between two hosts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flowing {
    pub(crate) flow: u32,
    pub(crate) source: u32,
    pub(crate) bytes: u32,
    pub(crate) traffic_class: u8,
    pub(crate) to: NodeId,
}

impl Packet for Flowing {
    fn wire_bytes(&self) -> u32 {
        self.bytes
    }

    fn destination(&self) -> NodeId {
        self.to
    }

    fn header(&self) -> Header {
        let Self { flow, source, traffic_class, .. } = *self;
        Header { connection: flow, source, traffic_class, ..Header::default() }
    }

    fn mark(&mut self) {
        self.traffic_class |= 0b11;
    }
}

/// What became of a packet at the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PacketFate {
    Left { sojourn: Span },
    Marked,
    Dropped { reason: DropReason },
}

/// A fate, when, and of which flow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) at: Instant,
    pub(crate) flow: u32,
    pub(crate) fate: PacketFate,
}

/// Everything in order.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) entries: Vec<Entry>,
}

impl Log {
    /// Milliseconds, rounded down, of the deeds that `is_wanted`.
    pub(crate) fn millis(&self, is_wanted: impl Fn(&Entry) -> bool) -> Vec<u64> {
        let wanted = self.entries.iter().filter(|entry| is_wanted(entry));
        wanted.map(|entry| entry.at.as_nanos() / 1_000_000).collect()
    }

    /// Waiting times of `flow` from `since` on, in seconds.
    pub(crate) fn waits(&self, since: Instant, flow: u32) -> Vec<f64> {
        let later = self.entries.iter().filter(|entry| entry.at >= since && entry.flow == flow);
        let waits = later.filter_map(|entry| match entry.fate {
            PacketFate::Left { sojourn } => Some(sojourn.as_secs_f64()),
            _ => None,
        });
        waits.collect()
    }
}

impl Observer<Flowing> for Log {
    fn on_dequeue(&mut self, at: Instant, _: LinkId, packet: &Flowing, sojourn: Span) {
        self.entries.push(Entry { at, flow: packet.flow, fate: PacketFate::Left { sojourn } });
    }

    fn on_mark(&mut self, at: Instant, _: LinkId, packet: &Flowing) {
        self.entries.push(Entry { at, flow: packet.flow, fate: PacketFate::Marked });
    }

    fn on_drop(
        &mut self,
        at: Instant,
        _: LinkId,
        packet: &Flowing,
        _: Backlog,
        reason: DropReason,
        _: Option<Span>,
    ) {
        self.entries.push(Entry { at, flow: packet.flow, fate: PacketFate::Dropped { reason } });
    }
}

/// A queue before a link that takes a millisecond for 1500 bytes.
pub(crate) fn before_a_link(queue: Qdisc) -> LinkSpec {
    LinkSpec { rate: Some(BitRate::from_bits_per_second(12_000_000)), queue, ..LinkSpec::default() }
}

/// Puts `packets` in, each with milliseconds, and lets everything pass.
pub(crate) fn log_of(spec: LinkSpec, packets: &[(u64, Flowing)]) -> Log {
    let (topology, from, to, _) = crate::support::single_link(spec);
    let mut network: Network<Flowing> = topology.build(1).expect("a sound topology");
    let mut log = Log::default();
    for (millis, packet) in packets {
        let packet = Flowing { to, ..*packet };
        network.inject(Instant::from_millis(*millis), from, packet, &mut log);
    }
    network.advance_to(Instant::MAX, &mut log);
    log
}

/// A packet of `flow` with `bytes`, which can be marked where `is_capable`.
pub(crate) fn packet(flow: u32, bytes: u32, is_capable: bool) -> Flowing {
    let traffic_class = if is_capable { 0b10 } else { 0 };
    Flowing { flow, source: flow, bytes, traffic_class, to: NodeId(1) }
}
