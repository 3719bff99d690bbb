//! Protocols of packets: the version of the Internet Protocol, and the transport.

use serde::{Deserialize, Serialize};

/// The version of the Internet Protocol, written as 4 or 6.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub enum IpVersion {
    /// Version 4 (RFC 791).
    #[default]
    V4,
    /// Version 6 (RFC 8200).
    V6,
}

/// Bytes of the TCP header without options (RFC 9293 section 3.1).
const TCP_HEADER_BYTES: u64 = 20;
/// Bytes of the UDP header (RFC 768).
const UDP_HEADER_BYTES: u64 = 8;

impl IpVersion {
    /// Bytes of the IP header without options or extensions.
    pub fn ip_header_bytes(self) -> u64 {
        match self {
            Self::V4 => 20,
            Self::V6 => 40,
        }
    }

    /// Bytes of the IP and TCP headers without options.
    pub fn header_bytes(self) -> u64 {
        self.ip_header_bytes() + TCP_HEADER_BYTES
    }

    /// Bytes of the IP and UDP headers (RFC 768).
    pub fn datagram_header_bytes(self) -> u64 {
        self.ip_header_bytes() + UDP_HEADER_BYTES
    }
}

impl TryFrom<u8> for IpVersion {
    type Error = UnknownIpVersion;

    fn try_from(number: u8) -> Result<Self, UnknownIpVersion> {
        match number {
            4 => Ok(Self::V4),
            6 => Ok(Self::V6),
            other => Err(UnknownIpVersion(other)),
        }
    }
}

impl From<IpVersion> for u8 {
    fn from(version: IpVersion) -> Self {
        match version {
            IpVersion::V4 => 4,
            IpVersion::V6 => 6,
        }
    }
}

impl schemars::JsonSchema for IpVersion {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "IpVersion".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "The version of the Internet Protocol.",
            "type": "integer",
            "enum": [4, 6],
        })
    }
}

/// A number that is no version of the Internet Protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} is no version of the Internet Protocol; there are 4 and 6")]
pub struct UnknownIpVersion(pub u8);

/// What carries what an application writes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// A connection: all of it arrives, in order.
    #[default]
    Tcp,
    /// A datagram for each write; lost datagrams are not repaired.
    Udp,
}
