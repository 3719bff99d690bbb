//! Data with the SYN: who may send it, and who takes it.

use crate::handshake::{CookieKey, FastOpenPermit};
use std::net::IpAddr;

/// Switches of Fast Open (RFC 7413; Linux `tcp_fastopen`, the bits of which they are), and the secret
/// of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a bit of its own in Linux, too")]
pub struct FastOpenConfig {
    /// Applications may send data with the SYN (0x1).
    pub client: bool,
    /// Listening sockets may take it (0x2).
    pub server: bool,
    /// Data goes out whether or not there is a cookie (0x4; `TCP_FASTOPEN_NO_COOKIE`).
    pub client_without_cookie: bool,
    /// Data is taken without a cookie (0x200; `TCP_FASTOPEN_NO_COOKIE`).
    pub server_without_cookie: bool,
    /// Every listening socket takes it, whether or not it asked for it (0x400).
    pub every_listener: bool,
    /// The secret that cookies are made with (Linux `tcp_fastopen_key`).
    pub key: CookieKey,
    /// The secret before that, the cookies of which are still accepted.
    pub former_key: Option<CookieKey>,
}

impl FastOpenConfig {
    /// No Fast Open.
    pub const fn off() -> Self {
        Self::from_bits(0)
    }

    /// The switches that Linux writes as the bits of one number.
    pub const fn from_bits(bits: u32) -> Self {
        Self {
            client: bits & 0x1 != 0,
            server: bits & 0x2 != 0,
            client_without_cookie: bits & 0x4 != 0,
            server_without_cookie: bits & 0x200 != 0,
            every_listener: bits & 0x400 != 0,
            key: CookieKey::new([0; 16]),
            former_key: None,
        }
    }

    /// The same secrets with other switches.
    #[must_use]
    pub const fn with_bits(self, bits: u32) -> Self {
        let Self { key, former_key, .. } = self;
        Self { key, former_key, ..Self::from_bits(bits) }
    }

    /// What a listening end at `server` may do about a SYN of `client`; `None` where it has nothing to
    /// do with Fast Open.
    pub fn permit(&self, client: IpAddr, server: IpAddr) -> Option<FastOpenPermit> {
        self.server.then(|| FastOpenPermit {
            cookie: self.key.cookie(client, server),
            former: self.former_key.map(|key| key.cookie(client, server)),
            without_cookie: self.server_without_cookie,
        })
    }
}
