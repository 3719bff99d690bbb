//! Workloads: what the application of a flow writes.

use crate::protocol::{IpVersion, Transport};
use crate::recorded_application::RecordedApplication;
use crate::varying::{Distribution, Quantile, Varying};
use fairwind_units::{BitRate, ByteCount, Ratio, Span};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What the application of a flow writes, as described in a scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum WorkloadInput {
    /// A thin, application-limited stream: a small message at intervals.
    Thin {
        /// Bytes that the application writes each time.
        payload: Option<Varying<ByteCount>>,
        /// Instead of the payload: the IP packet that one write makes, headers and options included.
        packet: Option<Varying<ByteCount>>,
        /// Time from one write to the next.
        interval: Varying<Span>,
        /// Transport of the messages.
        #[serde(default)]
        transport: Transport,
    },
    /// A stream that always has something to send.
    Greedy {
        /// Bytes to send before closing; default: unlimited.
        volume: Option<ByteCount>,
    },
    /// Requests of the host that connects and responses of the other one, alternating on one connection.
    RequestResponse {
        /// Bytes of a request.
        request: Varying<ByteCount>,
        /// Bytes of a response.
        response: Varying<ByteCount>,
        /// Time from the last byte of a request to its response; default: none.
        think_time: Option<Varying<Span>>,
        /// Time from the last byte of a response to the next request; default: none.
        pause: Option<Varying<Span>>,
        /// Number of exchanges before the connection is closed; default: unlimited.
        #[schemars(range(min = 1))]
        exchanges: Option<u32>,
    },
    /// A stream like that of a recorded application.
    Profile {
        /// The application; `fairwind applications` lists them with their parameters.
        application: RecordedApplication,
        /// Transport of the messages, independent of the recorded one.
        #[serde(default)]
        transport: Transport,
    },
    /// Bursts with silence between them.
    OnOff {
        /// How long a burst lasts.
        on: Option<Varying<Span>>,
        /// Instead of the duration: bytes of a burst.
        volume: Option<Varying<ByteCount>>,
        /// Duration of the silence between two bursts.
        off: Varying<Span>,
        /// Rate of the writes in a burst; default: as fast as the network takes them.
        rate: Option<BitRate>,
        /// Bytes of each write if there is a rate; default: 1000 B.
        message: Option<ByteCount>,
    },
    /// A web user: requests of the host that connects, objects of random sizes in
    /// response, one after the other on one connection.
    Web(WebPages),
    /// Consecutive transfers, each on a new connection. The server sends and closes; the client reads to the end and
    /// connects again. The group's `count` is the number of clients. On a path the server is left of the bottleneck, so
    /// that its data passes it.
    Transfers {
        /// Bytes of a transfer.
        volume: Varying<ByteCount>,
        /// Number of consecutive transfers, as far as the experiment lasts; none begins after the group's `stop`.
        #[schemars(range(min = 1, max = 100_000))]
        transfers: u32,
        /// Time from the end of a transfer to the next connection; default: none.
        pause: Option<Varying<Span>>,
        /// Bytes of a request, which the server waits for; default: none, and the server sends as soon as it is
        /// connected.
        request: Option<Varying<ByteCount>>,
        /// Time for which the client holds back every ACK without data, its FIN included, so that it looks far away.
        /// Its SYN and its requests leave at once. Default: none.
        ack_delay: Option<Span>,
    },
    /// A constant bit rate.
    Constant {
        /// Rate of the IP packets, headers included.
        rate: BitRate,
        /// Bytes that are written each time.
        payload: Option<ByteCount>,
        /// Instead of the payload: the IP packet that one write makes, headers and options included.
        packet: Option<ByteCount>,
        /// Transport of the packets.
        #[serde(default = "udp")]
        transport: Transport,
    },
    /// The writes of another application, with the same intervals.
    Replay {
        /// Name of a file with the writes, relative to the scenario's folder: a text with a line for each, which has the
        /// seconds since the connection was established, a comma, and the bytes; or a capture (pcap, pcapng).
        file: Option<String>,
        /// Of a capture, which connection, as `fairwind analyse --filter` takes it; default: the direction with the
        /// most payload.
        connection: Option<String>,
        /// Instead of a file: the writes, in the order of their times.
        writes: Option<Vec<RecordedWrite>>,
        /// Transport of the writes.
        #[serde(default)]
        transport: Transport,
    },
    /// The second half of split connections, as in a performance-enhancing proxy: this group's host relays the data
    /// that another group's connections bring. Connection `i` relays the data of connection `i` of that group. It opens
    /// when that connection is accepted, and closes when that one is closed and all data is written.
    Relay {
        /// The group with the data to relay; this group's `from` is that group's `to`.
        of: String,
        /// Bytes that may wait between the two connections. If they are used up, the relay stops reading, and the
        /// window of the first connection closes.
        buffer: ByteCount,
    },
}

/// Requests for the objects of web pages, one after the other on one connection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebPages {
    /// Bytes of a request.
    #[serde(default = "web_request")]
    pub request: Varying<ByteCount>,
    /// Bytes of a page's main object, headers included.
    #[serde(default = "web_main_object")]
    pub main_object: Varying<ByteCount>,
    /// Number of objects embedded in a page.
    #[serde(default = "web_embedded_objects")]
    pub embedded_objects: Varying<u32>,
    /// Bytes of an embedded object, headers included.
    #[serde(default = "web_embedded_object")]
    pub embedded_object: Varying<ByteCount>,
    /// Time from the end of a main object to the request for the first embedded one.
    #[serde(default = "web_parsing_time")]
    pub parsing_time: Varying<Span>,
    /// Time from the end of a page to the request for the next one.
    #[serde(default = "web_reading_time")]
    pub reading_time: Varying<Span>,
    /// Number of pages before the connection is closed; default: unlimited.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub pages: Option<u32>,
}

/// What the application of a flow writes, resolved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Workload {
    /// A small message at intervals.
    Thin {
        /// How large one message is.
        size: MessageSize,
        /// Time from one write to the next.
        interval: Varying<Span>,
        /// Transport of the messages.
        #[serde(default, skip_serializing_if = "crate::is_default")]
        transport: Transport,
    },
    /// Always something to send.
    Greedy {
        /// Bytes to send before closing; `None`: without end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        volume: Option<ByteCount>,
    },
    /// Requests and responses in turn.
    RequestResponse {
        /// Bytes of a request.
        request: Varying<ByteCount>,
        /// Bytes of a response.
        response: Varying<ByteCount>,
        /// Time from the last byte of a request to its response.
        think_time: Varying<Span>,
        /// Time from the last byte of a response to the next request.
        pause: Varying<Span>,
        /// How many exchanges there are before the connection is closed; `None`: without end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exchanges: Option<u32>,
    },
    /// Bursts with silence between them.
    OnOff {
        /// How long a burst is.
        burst: Burst,
        /// Duration of the silence between two bursts.
        off: Varying<Span>,
        /// Rate of the writes in a burst; `None`: as fast as the network takes them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pace: Option<Pace>,
    },
    /// Web pages, one object after the other.
    Web(WebPages),
    /// Consecutive transfers, each on a new connection.
    Transfers {
        /// Bytes of a transfer, one or more.
        volume: Varying<ByteCount>,
        /// How many there are one after the other, one or more.
        transfers: u32,
        /// Time from the end of a transfer to the next call.
        pause: Varying<Span>,
        /// Bytes of a request; none where that is zero.
        request: Varying<ByteCount>,
        /// How long the host that calls holds acknowledgments back.
        #[serde(default, skip_serializing_if = "crate::is_default")]
        ack_delay: Span,
    },
    /// A constant bit rate of IP packets.
    Constant {
        /// Rate of the IP packets, headers included.
        rate: BitRate,
        /// How large one write is.
        size: MessageSize,
        /// Transport of the packets.
        #[serde(default, skip_serializing_if = "crate::is_default")]
        transport: Transport,
    },
    /// The writes of another application.
    Replay {
        /// The writes, in the order of their times.
        writes: Arc<[RecordedWrite]>,
        /// Transport of the writes.
        #[serde(default, skip_serializing_if = "crate::is_default")]
        transport: Transport,
    },
    /// What another group's connections bring.
    Relay {
        /// The group.
        of: String,
        /// Bytes that may wait between the two connections.
        buffer: ByteCount,
    },
}

impl WorkloadInput {
    /// Whether the side that is called writes, too.
    pub(crate) fn is_answered(&self) -> bool {
        matches!(self, Self::RequestResponse { .. } | Self::Web(_) | Self::Transfers { .. })
    }

    /// Whether data comes from the side that is called alone, so that this one stands left of a bottleneck.
    pub(crate) fn is_sent_by_called(&self) -> bool {
        matches!(self, Self::Transfers { .. })
    }

    /// What carries it.
    pub fn transport(&self) -> Transport {
        match self {
            Self::Thin { transport, .. }
            | Self::Profile { transport, .. }
            | Self::Constant { transport, .. }
            | Self::Replay { transport, .. } => *transport,
            _ => Transport::Tcp,
        }
    }
}

impl Workload {
    /// Whether the side that is called writes, too.
    pub fn is_answered(&self) -> bool {
        matches!(self, Self::RequestResponse { .. } | Self::Web(_) | Self::Transfers { .. })
    }

    /// How many connections follow one another where one ends.
    pub fn connections_in_turn(&self) -> u32 {
        if let Self::Transfers { transfers, .. } = self { *transfers } else { 1 }
    }

    /// How long the host that opens connections holds back what only acknowledges.
    pub fn ack_delay(&self) -> Span {
        if let Self::Transfers { ack_delay, .. } = self { *ack_delay } else { Span::ZERO }
    }

    /// The group with the data to relay, if this is a relay.
    pub fn relayed(&self) -> Option<&str> {
        match self {
            Self::Relay { of, .. } => Some(of),
            _ => None,
        }
    }

    /// What carries it.
    pub fn transport(&self) -> Transport {
        match self {
            Self::Thin { transport, .. }
            | Self::Constant { transport, .. }
            | Self::Replay { transport, .. } => *transport,
            _ => Transport::Tcp,
        }
    }

    /// Whether the application would rather have small segments at once than fewer of them.
    pub fn is_interactive(&self) -> bool {
        !matches!(
            self,
            Self::Greedy { .. } | Self::OnOff { pace: None, .. } | Self::Transfers { .. }
        )
    }
}

/// How long a burst is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Burst {
    /// A time.
    Time(Varying<Span>),
    /// Number of bytes.
    Volume(Varying<ByteCount>),
}

/// Messages at a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pace {
    /// Rate of what is written.
    pub rate: BitRate,
    /// Bytes that are written at once.
    pub message: ByteCount,
}

/// A write of another application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordedWrite {
    /// When, since the connection was established.
    pub at: Span,
    /// How many bytes.
    pub size: ByteCount,
}

fn udp() -> Transport {
    Transport::Udp
}

/// How large one message is, in one of the two conventions of the literature.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MessageSize {
    /// What the application writes.
    Payload(Varying<ByteCount>),
    /// The IP packet that one write makes: the payload is this less the headers that are in use,
    /// see [`MessageSize::payload_of_packet`].
    Packet(Varying<ByteCount>),
}

/// Bytes that timestamps add to every segment, padding included (RFC 7323 appendix A).
pub const TIMESTAMP_BYTES: u64 = 12;

impl MessageSize {
    /// Payload of a datagram in a packet of `packet_bytes`, at least one byte.
    pub fn payload_of_datagram(packet_bytes: ByteCount, ip_version: IpVersion) -> ByteCount {
        let headers = ip_version.datagram_header_bytes();
        ByteCount::new(packet_bytes.get().saturating_sub(headers).max(1))
    }

    /// Payload of a packet of `packet_bytes`, at least one byte.
    pub fn payload_of_packet(
        packet_bytes: ByteCount,
        ip_version: IpVersion,
        timestamps: bool,
    ) -> ByteCount {
        let options = if timestamps { TIMESTAMP_BYTES } else { 0 };
        let headers = ip_version.header_bytes() + options;
        ByteCount::new(packet_bytes.get().saturating_sub(headers).max(1))
    }
}

// Defaults of web pages: the model of the cellular standards (3GPP2 C.R1002-0 v1.0, 2004, table 2.1.3.3-2; 3GPP TR
// 25.892, annex A.2.1.1 has the same), which is bounded and needs no other source.
//
// The number of embedded objects is `x - 2` there, `x` being of a Pareto distribution with shape 1.1 and least value 2;
// draws above 55 are made 55; its mean is 5.64. Here it is a table of the quantiles of that law, between which it is
// straight; its mean is 5.8.

/// 350 B.
fn web_request() -> Varying<ByteCount> {
    Varying::Constant(ByteCount::new(350))
}

/// Lognormal, between 100 B and 2 MB.
fn web_main_object() -> Varying<ByteCount> {
    web_object(10_710, 25_032, 100)
}

/// Lognormal, between 50 B and 2 MB.
fn web_embedded_object() -> Varying<ByteCount> {
    web_object(7758, 126_168, 50)
}

fn web_object(mean: u64, deviation: u64, min: u64) -> Varying<ByteCount> {
    Varying::Drawn(Distribution::Lognormal {
        mean: ByteCount::new(mean),
        deviation: ByteCount::new(deviation),
        min: Some(ByteCount::new(min)),
        max: Some(ByteCount::new(2_000_000)),
    })
}

/// Shares in thousandths, and how many objects are embedded in as many pages at most.
const EMBEDDED_OBJECTS: [(u64, u32); 11] = [
    (0, 0),
    (360, 1),
    (533, 2),
    (635, 3),
    (748, 5),
    (830, 8),
    (891, 13),
    (932, 21),
    (958, 34),
    (974, 53),
    (1000, 53),
];

fn web_embedded_objects() -> Varying<u32> {
    let quantile = |&(thousandths, value): &(u64, u32)| Quantile {
        share: Ratio::from_parts_per_billion(thousandths * 1_000_000),
        value,
    };
    let quantiles = EMBEDDED_OBJECTS.iter().map(quantile).collect();
    Varying::Drawn(Distribution::Empirical { quantiles, mean: None })
}

/// Exponential, 0.13 s on average.
fn web_parsing_time() -> Varying<Span> {
    Varying::Drawn(Distribution::Exponential { mean: Span::from_millis(130) })
}

/// Exponential, 30 s on average.
fn web_reading_time() -> Varying<Span> {
    Varying::Drawn(Distribution::Exponential { mean: Span::from_secs(30) })
}
