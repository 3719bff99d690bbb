//! What the application of a flow writes.

use crate::{IpVersion, RecordedApplication, Varying};
use fairwind_units::{ByteCount, Span};
use serde::{Deserialize, Serialize};

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
        /// What carries the messages.
        #[serde(default)]
        transport: Transport,
    },
    /// A stream that always has something to send.
    Greedy {
        /// Bytes to send before closing; without end unless said.
        volume: Option<ByteCount>,
    },
    /// Requests of the host that connects, and responses of the other one, in turn on one connection.
    RequestResponse {
        /// Bytes of a request.
        request: Varying<ByteCount>,
        /// Bytes of a response.
        response: Varying<ByteCount>,
        /// Time from the last byte of a request to its response; none unless said.
        think_time: Option<Varying<Span>>,
        /// Time from the last byte of a response to the next request; none unless said.
        pause: Option<Varying<Span>>,
        /// How many exchanges there are before the connection is closed; without end unless said.
        #[schemars(range(min = 1))]
        exchanges: Option<u32>,
    },
    /// A stream like that of a recorded application.
    Profile {
        /// Which application; the page on recorded applications has their numbers.
        application: RecordedApplication,
        /// What carries the messages, whatever carried them when they were recorded.
        #[serde(default)]
        transport: Transport,
    },
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
        /// What carries the messages.
        #[serde(default, skip_serializing_if = "Transport::is_usual")]
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
}

/// What carries what an application writes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// A connection: all of it arrives, in order.
    #[default]
    Tcp,
    /// A datagram for each write: what is lost stays lost.
    Udp,
}

impl Transport {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    fn is_usual(&self) -> bool {
        *self == Self::Tcp
    }
}

impl Workload {
    /// Whether the other side writes too.
    pub fn is_answered(&self) -> bool {
        matches!(self, Self::RequestResponse { .. })
    }

    /// Whether the application would rather have small segments at once than fewer of them.
    pub fn is_interactive(&self) -> bool {
        matches!(self, Self::Thin { .. } | Self::RequestResponse { .. })
    }
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
