//! Data with the SYN: who may send it, and who takes it.

/// Switches of Fast Open (RFC 7413; Linux `tcp_fastopen`, the bits of which they are).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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
}

impl FastOpenConfig {
    /// The switches that Linux writes as the bits of one number.
    pub const fn from_bits(bits: u32) -> Self {
        Self {
            client: bits & 0x1 != 0,
            server: bits & 0x2 != 0,
            client_without_cookie: bits & 0x4 != 0,
            server_without_cookie: bits & 0x200 != 0,
            every_listener: bits & 0x400 != 0,
        }
    }
}
