//! Fast Open: data travels with the SYN, to a server that has met the client before.
//!
//! Source: RFC 7413 as Linux 6.18 has it (`tcp_fastopen.c`, `tcp_send_syn_data`,
//! `tcp_rcv_fastopen_synack`). The cookie proves that the client's address is its own; a client gets
//! it with an earlier connection. Endpoints know no addresses: the driver keeps the client's cookies,
//! and tells a listening end which cookies it accepts (see [`CookieKey`]).
//! Differs from RFC 7413: the SYN's data leaves 40 bytes for options that others may add, and a SYN is
//! repeated without data and option.
//! Cost: nothing for connections without it.

mod client;
mod key;
mod server;

pub use client::FastOpenSyn;
pub use key::CookieKey;
pub use server::FastOpenPermit;

use fairwind_wire::{FastOpen, FastOpenKind};

/// Why data with the SYN did not save a round trip (Linux `tcpi_fastopen_client_fail`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FastOpenFailure {
    /// There was no cookie yet.
    CookieUnavailable,
    /// The answer acknowledged less than the data.
    DataNotAcknowledged,
    /// The SYN had to be repeated.
    SynRetransmitted,
}

impl FastOpenFailure {
    /// Linux' number; 0 is no failure.
    pub(crate) const fn number(self) -> u32 {
        match self {
            Self::CookieUnavailable => 1,
            Self::DataNotAcknowledged => 2,
            Self::SynRetransmitted => 3,
        }
    }
}

/// What an answer to our SYN tells the driver to remember of the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FastOpenLesson {
    /// A cookie for connections to come.
    pub cookie: Option<FastOpen>,
    /// The peer's MSS, which bounds the data of a SYN to come, in bytes.
    pub peer_mss: u16,
    /// We asked for a cookie and got none: how to ask next time.
    pub ask_next: Option<FastOpenKind>,
    /// Only a SYN without data got through.
    pub data_was_dropped: bool,
}

/// What a connection keeps of Fast Open.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each tells of another thing that has happened")]
pub(crate) struct FastOpenState {
    /// What our SYN is to carry; taken when it goes out.
    syn: Option<FastOpenSyn>,
    /// Our SYN carried the option.
    pub(crate) asked: Option<FastOpenKind>,
    /// Our SYN carried data, as many bytes.
    pub(crate) syn_bytes: u32,
    /// The SYN's data was acknowledged (client) or taken (server): `tcpi_options`.
    pub(crate) syn_data_acknowledged: bool,
    pub(crate) failure: Option<FastOpenFailure>,
    pub(crate) lesson: Option<FastOpenLesson>,
    /// What a listening end may do.
    permit: Option<FastOpenPermit>,
    /// The option of our SYN-ACK; taken when it goes out.
    reply: Option<FastOpen>,
    /// The connection is in use though its handshake is not over.
    pub(crate) early: bool,
    /// The same, and so it stays.
    pub(crate) opened_early: bool,
    /// The application waits with more data for the connection to open.
    pub(crate) data_waits: bool,
    /// The application has accepted it.
    pub(crate) accepted: bool,
    /// The application will not write any more, which is said once the handshake is over.
    pub(crate) shut_down: bool,
    /// The application has closed an early connection.
    pub(crate) finished: bool,
}
