//! Which packets a class takes.

use serde::{Deserialize, Serialize};

/// What a packet must be for a filter to send it to a class: everything that is set.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Filter {
    /// Of a flow of this group, in either direction.
    pub group: Option<String>,
    /// From this port.
    pub source_port: Option<u16>,
    /// To this port.
    pub destination_port: Option<u16>,
    /// With this code point (RFC 2474), 0 to 63.
    pub dscp: Option<u8>,
    /// Of this protocol, by its number: 6 is TCP, 17 is UDP.
    pub protocol: Option<u8>,
}
