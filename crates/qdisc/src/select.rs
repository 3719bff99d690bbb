//! Which packets a class takes.

use serde::{Deserialize, Serialize};

/// What a packet must be for a filter to send it to a class: everything that is set.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Filter {
    /// Of a flow of this group, in either direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// From this port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_port: Option<u16>,
    /// To this port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination_port: Option<u16>,
    /// With this code point (RFC 2474), 0 to 63.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 63))]
    pub dscp: Option<u8>,
    /// Of this protocol, by its number: 6 is TCP, 17 is UDP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<u8>,
}
