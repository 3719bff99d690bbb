//! Flows: sender, receiver, ports and start times.

use fairwind_measure::{ConnectionFlows, FlowId};
use fairwind_network::NodeId;
use fairwind_scenario::IpVersion;
use fairwind_units::{Instant, Span};
use fairwind_wire::bytes::Addresses;
use fairwind_workload::Application;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::Range;

/// First port of the sending side; flows count up from it.
pub const FIRST_SENDER_PORT: u16 = 49_152;
/// Ports of the sending side; further flows of a group get another address.
pub const SENDER_PORTS: u32 = 10_000;
/// Port of the receiving side of the first group; groups count up from it. The thesis used 5000,
/// which Wireshark takes for a GSM protocol; dynamic ports belong to none.
pub const FIRST_RECEIVER_PORT: u16 = 60_000;

/// One connection before it begins, called by the flow of the side that opens it.
#[derive(Debug, Clone)]
pub struct FlowPlan {
    /// The flow's id: its place among the plans, too.
    pub flow: FlowId,
    /// Its group: an index into the experiment's flows.
    pub group: usize,
    /// Its number within the group.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// The host that opens the connection and sends the data.
    pub sender_node: NodeId,
    /// The host that receives it.
    pub receiver_node: NodeId,
    /// Addresses of packets from sender to receiver.
    pub addresses: Addresses,
    /// Port at the sender.
    pub sender_port: u16,
    /// Port at the receiver.
    pub receiver_port: u16,
    /// What the sender writes.
    pub application: Application,
    /// What the receiver writes; `None`: nothing.
    pub response: Option<ResponsePlan>,
    /// The flow that it relays; `None` if it has its own data.
    pub relays: Option<FlowId>,
    /// When the application opens the connection; [`FlowDescription::START_PENDING`](fairwind_measure::FlowDescription::START_PENDING) where another
    /// one has to be over before; [`Instant::MAX`]: when the one that it relays has come.
    pub start: Instant,
    /// When the application stops writing; [`Instant::MAX`] for never.
    pub stop: Instant,
    /// Whether its packets are captured.
    pub is_captured: bool,
    /// The next flow when this connection is over; `None` if there is none.
    pub next: Option<NextConnection>,
    /// How long the sender's host holds back what [only acknowledges](crate::is_pure_ack); zero: not at all.
    pub ack_delay: Span,
}

/// A connection that begins when another one is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextConnection {
    /// Its flow, which does not start by the clock: its start is
    /// [`FlowDescription::START_PENDING`](fairwind_measure::FlowDescription::START_PENDING).
    pub flow: FlowId,
    /// Time from the end of the one before.
    pub pause: Span,
    /// It does not begin at this instant, or later.
    pub until: Instant,
}

impl NextConnection {
    /// When it begins, if the one before is over at `now`.
    pub fn start(self, now: Instant) -> Option<Instant> {
        Some(now + self.pause).filter(|&start| start < self.until)
    }
}

/// A stream of datagrams before it begins.
#[derive(Debug, Clone)]
pub struct DatagramPlan {
    /// The flow's id; those of connections, and of what answers on them, come before.
    pub flow: FlowId,
    /// Its group: an index into the experiment's flows.
    pub group: usize,
    /// Its name.
    pub name: String,
    /// The host that sends.
    pub sender_node: NodeId,
    /// The host that receives.
    pub receiver_node: NodeId,
    /// Addresses of packets from sender to receiver.
    pub addresses: Addresses,
    /// Port at the sender.
    pub sender_port: u16,
    /// Port at the receiver.
    pub receiver_port: u16,
    /// What the sender writes: a datagram for each write, or several for one that is larger than
    /// [`most_payload`](Self::most_payload).
    pub application: Application,
    /// The largest payload of a datagram, so that no packet exceeds the MTU.
    pub most_payload: u32,
    /// When the application begins.
    pub start: Instant,
    /// When it stops; [`Instant::MAX`] for never.
    pub stop: Instant,
}

/// The data that goes the other way on a connection.
#[derive(Debug, Clone)]
pub struct ResponsePlan {
    /// Its flow.
    pub flow: FlowId,
    /// What the receiver writes.
    pub application: Application,
}

impl DatagramPlan {
    /// Address and port of the host that sends.
    pub fn sender_end(&self) -> SocketAddr {
        SocketAddr::new(self.addresses.ends()[0], self.sender_port)
    }

    /// Address and port of the host that receives.
    pub fn receiver_end(&self) -> SocketAddr {
        SocketAddr::new(self.addresses.ends()[1], self.receiver_port)
    }
}

impl FlowPlan {
    /// The flows of the connection.
    pub fn connection(&self) -> ConnectionFlows {
        let answering = self.response.as_ref().map(|answer| answer.flow);
        ConnectionFlows { opening: self.flow, answering }
    }

    /// Address and port of the host that opens the connection.
    pub fn sender_end(&self) -> SocketAddr {
        SocketAddr::new(self.addresses.ends()[0], self.sender_port)
    }

    /// Address and port of the host that is called.
    pub fn receiver_end(&self) -> SocketAddr {
        SocketAddr::new(self.addresses.ends()[1], self.receiver_port)
    }
}

/// The number that queue disciplines know a connection by, from the ports of one of its packets, and whether the packet
/// goes back to the side that opened it. Flows of a group that use the same port again, from another address, share it.
#[inline]
pub fn connection_of_ports(source_port: u16, destination_port: u16) -> (u32, bool) {
    let sender_place = source_port.wrapping_sub(FIRST_SENDER_PORT);
    let is_backward = u32::from(sender_place) >= SENDER_PORTS;
    let (sender, receiver) =
        if is_backward { (destination_port, source_port) } else { (source_port, destination_port) };
    let group = u32::from(receiver.wrapping_sub(FIRST_RECEIVER_PORT));
    (group << 16 | u32::from(sender.wrapping_sub(FIRST_SENDER_PORT)), is_backward)
}

/// The numbers that queue disciplines know the connections of a group by.
pub(crate) fn connections_of(group: usize) -> Range<u32> {
    let first = u32::from(low_16(group as u64)) << 16;
    first..first + SENDER_PORTS
}

/// Address number `block` of a host: 10.0.0.1 or `fd00::1` for the first node, and so on; a block
/// serves [`SENDER_PORTS`] flows.
pub fn address(ip_version: IpVersion, node: NodeId, block: u32) -> IpAddr {
    let host = (block << 14) + node.0 + 1;
    match ip_version {
        IpVersion::V4 => Ipv4Addr::from(0x0a00_0000 + host).into(),
        IpVersion::V6 => Ipv6Addr::from((0xfd00_u128 << 112) + u128::from(host)).into(),
    }
}

/// Addresses from sender to receiver of a group's flow `index`.
pub(crate) fn addresses(
    ip_version: IpVersion,
    sender: NodeId,
    receiver: NodeId,
    index: u32,
) -> Addresses {
    let source = address(ip_version, sender, index / SENDER_PORTS);
    Addresses::between(source, address(ip_version, receiver, 0))
        .expect("both are of the version that was asked for")
}

/// The sender's port of a group's flow `index`.
pub(crate) fn sender_port(index: u32) -> u16 {
    FIRST_SENDER_PORT + low_16(u64::from(index % SENDER_PORTS))
}

/// The receiver's port of all flows of a group.
pub(crate) fn receiver_port(group: usize) -> u16 {
    FIRST_RECEIVER_PORT.wrapping_add(low_16(group as u64))
}

#[expect(clippy::cast_possible_truncation, reason = "the low bits are wanted")]
fn low_16(number: u64) -> u16 {
    number as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_have_number_of_group() {
        for group in [0, 1, 300] {
            for index in [0, 7, SENDER_PORTS - 1] {
                let (sender, receiver) = (sender_port(index), receiver_port(group));
                let (there, is_backward) = connection_of_ports(sender, receiver);
                assert!(!is_backward);
                assert!(connections_of(group).contains(&there), "{group}, {index}");
                assert!(!connections_of(group + 1).contains(&there), "{group}, {index}");
                assert_eq!(connection_of_ports(receiver, sender), (there, true));
            }
        }
    }
}
