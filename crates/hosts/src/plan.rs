//! Plan of a host process, which its parent sends before it begins.

use fairwind_units::{ByteCount, Instant, Span};
use fairwind_workload::Application;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

/// Plan of a host.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HostPlan {
    /// [`PROTOCOL_VERSION`](super::PROTOCOL_VERSION) of whoever wrote the plan.
    pub version: u32,
    /// The host's name in the experiment.
    pub name: String,
    /// Name for the network namespace under `/run/netns`, where the process may make one (root):
    /// `fairwind-RUN-HOST`. A name that exists already is an error.
    pub namespace: Option<String>,
    /// The control group of version 2 that the process is to enter, where it remembers windows.
    pub control_group: Option<PathBuf>,
    /// The host's own addresses.
    pub addresses: Vec<IpAddr>,
    /// Largest IP packet.
    pub mtu: ByteCount,
    /// Sysctls of its namespace, set in this order.
    pub sysctls: Vec<Sysctl>,
    /// Words appended to the default route, such as `initcwnd 3`.
    pub route_attributes: Vec<String>,
    /// Words for its TUN device, such as `gso_max_segs 1`.
    pub device_attributes: Vec<String>,
    /// The veth to a router of the kernel's own parts, in place of a TUN device.
    pub veth: Option<VethPlan>,
    /// Connections that this host opens.
    pub outgoing: Vec<OutgoingPlan>,
    /// Connections that this host answers.
    pub incoming: Vec<IncomingPlan>,
    /// Streams of datagrams that this host sends.
    pub outgoing_datagrams: Vec<OutgoingDatagrams>,
    /// Streams of datagrams that this host receives.
    pub incoming_datagrams: Vec<IncomingDatagrams>,
    /// Sampling of senders.
    pub sampling: Sampling,
    /// How often the host reports at least.
    pub report_interval: Span,
    /// Whether the machine's clock stands still while anything computes.
    pub is_time_virtual: bool,
    /// Whether written bytes follow a pattern, and read bytes are compared with it.
    pub payload: PayloadCheck,
}

/// A pair of virtual Ethernet devices, one end of which is the host's and the other the router's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VethPlan {
    /// Name of the device at the router's end.
    pub device: String,
    /// Path of the router's network namespace.
    pub namespace: String,
    /// Hardware address of both ends, as `ip` writes it.
    pub hardware_address: String,
    /// By these addresses routes name the router: one of each version of IP.
    pub neighbours: [IpAddr; 2],
}

/// A kernel parameter of the namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sysctl {
    /// Its name with dots, such as `net.ipv4.tcp_sack`.
    pub name: String,
    /// What is written.
    pub value: String,
}

/// A connection that the host opens, and writes to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OutgoingPlan {
    /// The flow of the data that this host writes.
    pub flow: u32,
    /// Where from.
    pub local: SocketAddr,
    /// Where to.
    pub remote: SocketAddr,
    /// Settings of its socket.
    pub socket: SocketSettings,
    /// What is written.
    pub application: Application,
    /// When the connection is opened; beyond every end where another one has to be over before.
    pub start: Instant,
    /// When the application stops writing and closes; [`Instant::MAX`] for never.
    pub stop: Instant,
    /// The flow of the data that the other side writes; `None` if it writes nothing.
    pub reads: Option<u32>,
    /// The incoming flow that this connection relays; `None`: the connection writes its own data. A relay is opened
    /// when the incoming connection is accepted.
    pub relays: Option<u32>,
    /// Further flows that carry the same data. Each write is reported for them, too. A relay's own writes are not
    /// reported.
    pub carried_by: Vec<u32>,
    /// The connection of this host that starts when this one is over.
    pub next: Option<NextOutgoing>,
}

/// A connection that begins when another one is over.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct NextOutgoing {
    /// Its flow.
    pub flow: u32,
    /// Time from the end of the one before.
    pub pause: Span,
    /// It does not begin at this instant, or later.
    pub until: Instant,
}

/// A connection that the host answers, and reads from.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct IncomingPlan {
    /// The flow of the data that this host reads.
    pub flow: u32,
    /// Address and port that are listened on; several connections may share them.
    pub local: SocketAddr,
    /// Who calls.
    pub remote: SocketAddr,
    /// Settings of the listening socket, which its connections inherit; equal for equal `local`.
    pub socket: SocketSettings,
    /// What this host writes on the connection; `None`: nothing.
    pub answer: Option<ReplyPlan>,
}

/// Data that the accepting host writes on a connection.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReplyPlan {
    /// The flow of the data that this host writes.
    pub flow: u32,
    /// What is written.
    pub application: Application,
}

/// A stream of datagrams that the host sends.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OutgoingDatagrams {
    /// Its flow.
    pub flow: u32,
    /// Where from.
    pub local: SocketAddr,
    /// Where to.
    pub remote: SocketAddr,
    /// What is written.
    pub application: Application,
    /// The largest payload of a datagram in bytes.
    pub most_payload: u32,
    /// When the application begins.
    pub start: Instant,
    /// When it stops; [`Instant::MAX`] for never.
    pub stop: Instant,
}

/// A stream of datagrams that the host receives, and reads as they come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncomingDatagrams {
    /// Its flow.
    pub flow: u32,
    /// Address and port that they come to; several streams may share them.
    pub local: SocketAddr,
    /// Where they come from.
    pub remote: SocketAddr,
}

/// Settings of a socket.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SocketSettings {
    /// Name of the congestion control; the namespace's default where nothing is said. The host
    /// asks afterwards which one it got, and refuses another.
    pub congestion: Option<String>,
    /// Options that take a number.
    pub options: Vec<SocketOption>,
}

/// An option of a socket that takes a number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SocketOption {
    /// Its name, for messages.
    pub name: String,
    /// Its level, such as `IPPROTO_TCP`.
    pub level: i32,
    /// Its number at that level.
    pub number: i32,
    /// Its value.
    pub value: i32,
}

/// Sampling of the connections that a host opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Sampling {
    /// Windows and round-trip times are reported this often; `None` for never.
    pub endpoint_interval: Option<Span>,
    /// Connections with bytes outstanding are polled for time-outs and recoveries this often; `None` if
    /// tracepoints report them.
    pub loss_interval: Option<Span>,
}

/// Whether the bytes of a stream are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PayloadCheck {
    /// Zeros are written, and what arrives is discarded unseen.
    #[default]
    Off,
    /// A pattern is written, and every byte read is compared with it.
    Pattern,
}
