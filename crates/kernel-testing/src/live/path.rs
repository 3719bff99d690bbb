//! What happens to packets between the kernel and our host: the network elements of
//! `fairwind-network`, the same in both directions.
//!
//! A packet that is to be overtaken takes a second, longer way; one that is to be doubled goes in
//! twice.

use super::LiveError;
use fairwind_network::{LinkSpec, Network, NodeId, Packet, Topology};
use fairwind_units::{BitRate, Instant, Ratio, Span};
use rand::Rng;
use rand_pcg::Pcg32;

/// What the way does to packets, in each direction. The default does nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Impairments {
    /// Rate; `None` takes no time.
    pub rate: Option<BitRate>,
    /// One-way delay.
    pub delay: Span,
    /// Share of packets that are lost.
    pub loss: Ratio,
    /// Share of packets that take the longer way.
    pub reordering: Ratio,
    /// How much longer that is.
    pub detour: Span,
    /// Share of packets that arrive twice.
    pub duplication: Ratio,
    /// What chance begins with.
    pub seed: u64,
}

/// Bytes on their way.
#[derive(Debug)]
struct IpPacket {
    destination: NodeId,
    bytes: Vec<u8>,
}

impl Packet for IpPacket {
    fn wire_bytes(&self) -> u32 {
        u32::try_from(self.bytes.len()).unwrap_or(u32::MAX)
    }

    fn destination(&self) -> NodeId {
        self.destination
    }
}

/// Which end of the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Kernel,
    Ours,
}

/// The way at work.
pub(super) struct PathEmulator {
    spec: Impairments,
    network: Network<IpPacket>,
    /// The nodes at the kernel's and at our end: the straight way's, and the longer one's.
    kernel: [NodeId; 2],
    ours: [NodeId; 2],
    chance: Pcg32,
}

impl PathEmulator {
    pub(super) fn new(spec: Impairments) -> Result<Self, LiveError> {
        let mut topology = Topology::new();
        let mut pair = |name: &str| {
            [topology.add_host(name), topology.add_host(format!("{name}, the long way"))]
        };
        let (kernel, ours) = (pair("kernel"), pair("ours"));
        for way in 0..2 {
            let delay = if way == 0 { spec.delay } else { spec.delay + spec.detour };
            let link = LinkSpec { rate: spec.rate, delay, loss: spec.loss, ..LinkSpec::default() };
            topology.add_link(kernel[way], ours[way], link.clone());
            topology.add_link(ours[way], kernel[way], link);
        }
        let network = topology
            .build(spec.seed)
            .map_err(|error| LiveError::Conversation { reason: error.to_string() })?;
        Ok(Self { spec, network, kernel, ours, chance: Pcg32::new(spec.seed, 17) })
    }

    /// Sends a packet from one end to the other.
    pub(super) fn send(&mut self, now: Instant, from: End, bytes: Vec<u8>) {
        let way = usize::from(self.happens(self.spec.reordering));
        let (source, destination) = match from {
            End::Kernel => (self.kernel[way], self.ours[way]),
            End::Ours => (self.ours[way], self.kernel[way]),
        };
        if self.happens(self.spec.duplication) {
            let twin = IpPacket { destination, bytes: bytes.clone() };
            self.network.inject(now, source, twin, &mut ());
        }
        self.network.inject(now, source, IpPacket { destination, bytes }, &mut ());
    }

    fn happens(&mut self, share: Ratio) -> bool {
        share != Ratio::ZERO && share.happens(self.chance.next_u32())
    }

    /// When there is something to do next.
    pub(super) fn next_event(&self) -> Instant {
        self.network.next_event().unwrap_or(Instant::MAX)
    }

    /// The next packet that has arrived by `now`, and where.
    pub(super) fn arrival(&mut self, now: Instant) -> Option<(End, Vec<u8>)> {
        self.network.advance_to(now, &mut ());
        let packet = self.network.poll_delivery()?.packet;
        let end = if self.ours.contains(&packet.destination) { End::Ours } else { End::Kernel };
        Some((end, packet.bytes))
    }
}
