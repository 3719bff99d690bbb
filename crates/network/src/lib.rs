//! The network in between: links, impairments and queue disciplines, joined in one [`Network`].
//!
//! A [`Topology`] of hosts, routers and links becomes a [`Network`], into which packets are
//! injected at nodes and out of which they are delivered at their destinations, by the same code in
//! virtual and in real time. Elements are called with the instant their event was *due*, never with
//! the poll instants, so polling often or seldom gives the same departures, drops and
//! deliveries.
//!
//! It never reads a clock, waits, opens a file, looks into a packet beyond [`Packet`], or draws a
//! random number from anything but the seed it was built with. Same topology, seed and injections:
//! same results.
//!
//! In: [`Network::inject`]. Out: [`Network::next_delivery`] where the caller owns the clock, or
//! [`Network::next_event`], [`Network::advance_to`] and [`Network::poll_delivery`] where the clock
//! owns the caller; and the facts of every queue to an [`Observer`]. In and out without a copy, for
//! packets that are large: [`Network::commit`], [`Network::next_delivery_ref`].
//!
//! ```
//! use fairwind_network::{LinkSpec, Network, NodeId, Packet, Qdisc, Topology};
//! use fairwind_units::Instant;
//!
//! struct Datagram { to: NodeId, bytes: u32 }
//! impl Packet for Datagram {
//!     fn wire_bytes(&self) -> u32 { self.bytes }
//!     fn destination(&self) -> NodeId { self.to }
//! }
//!
//! let mut topology = Topology::new();
//! let sender = topology.add_host("sender");
//! let receiver = topology.add_host("receiver");
//! topology.add_link(sender, receiver, LinkSpec {
//!     rate: Some("12 Mbit/s".parse()?),
//!     delay: "10 ms".parse()?,
//!     queue: Qdisc::Pfifo { limit_packets: 9 },
//!     ..LinkSpec::default()
//! });
//! let mut network: Network<Datagram> = topology.build(1)?;
//! network.inject(Instant::ZERO, sender, Datagram { to: receiver, bytes: 1500 }, &mut ());
//! let delivery = network.next_delivery(Instant::MAX, &mut ()).expect("nothing loses it");
//! assert_eq!(delivery.at, Instant::from_millis(11));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Modules: `packet` (what travels, ids, seeds), `topology` (what is built from), `routing` (who is next), `network` (the
//! whole at work), `pool` (where packets lie meanwhile), `event_queue` (what is due next), `link` (transmitters, loss, wire,
//! the fused FIFO link, the link for any discipline, and the counters of all), `dama` (slots of a carrier, assigned as
//! terminals ask for them), `queue` (disciplines), `observer` (what is reported).

mod dama;
mod event_queue;
mod link;
mod network;
mod observer;
mod packet;
mod pool;
mod queue;
mod routing;
mod topology;

pub use dama::SlotCounters;
pub use fairwind_qdisc::Qdisc;
pub use link::{LinkCounters, Volume};
pub use network::Network;
pub use observer::{Backlog, CapacityRequest, DropReason, Observer, SlotAssignment, VolumeRequest};
pub use packet::{CarrierId, Header, LinkId, NodeId, Packet, TcpAck};
pub use pool::{Delivery, DeliveryRef};
pub use queue::{
    DequeueResult, Fifo, FlowGroups, QueueActions, QueueDiscipline, QueuedPacket, build_discipline,
};
pub use topology::{CarrierAccess, LinkSpec, Topology, TopologyError};
