//! TCP Fast Open (RFC 7413): data with the SYN; cookies of a server.
//!
//! Source: RFC 7413 as in Linux 6.18 (`tcp_fastopen.c`, `tcp_send_syn_data`,
//! `tcp_rcv_fastopen_synack`). The cookie proves the client's address; the client gets it with an
//! earlier connection. Endpoints have no addresses: the driver keeps the client's cookies, and gives a
//! listening end the valid ones (see [`CookieKey`](super::CookieKey)).
//! Differs from RFC 7413: the SYN's data leaves 40 bytes for options of middleboxes, and a SYN is
//! retransmitted without data and option.
//! Cost: nothing for connections without it.

use fairwind_wire::{Cookie, FastOpen, FastOpenKind, Options, Segment};
use siphasher::sip::SipHasher24;
use std::hash::Hasher;
use std::net::IpAddr;

/// Room left for options, including those of middleboxes (Linux `MAX_TCP_OPTION_SPACE`).
const OPTION_BYTES: u16 = 40;

/// MSS assumed where the peer names none (RFC 9293 §3.7.1).
pub(crate) const DEFAULT_MSS: u16 = 536;

/// Why data with the SYN did not save a round trip (Linux `tcpi_fastopen_client_fail`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FastOpenFailure {
    /// There was no cookie.
    CookieUnavailable,
    /// The answer acknowledged only a part of the data.
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

/// Fast Open contents of a SYN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FastOpenSyn {
    /// The request for a cookie.
    Request(FastOpenKind),
    /// Data.
    Data {
        /// The cookie; `None` where the server takes data without.
        option: Option<FastOpen>,
        /// Bytes available from the application; as many as fit are sent.
        bytes: u32,
        /// Cached MSS of the peer, if known, in bytes.
        peer_mss: Option<u16>,
    },
}

/// Change of the driver's cache by the answer to our SYN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FastOpenUpdate {
    /// A cookie for connections to come.
    pub cookie: Option<FastOpen>,
    /// The peer's MSS, which bounds the data of a SYN to come, in bytes.
    pub peer_mss: u16,
    /// A cookie request failed: option kind of the next request.
    pub ask_next: Option<FastOpenKind>,
    /// Only a SYN without data got through.
    pub data_was_dropped: bool,
}

/// What a listening end may do with the option of one client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FastOpenPermit {
    /// The client's cookie by the server's key.
    pub cookie: Cookie,
    /// Cookie by the previous key, which is still valid.
    pub former: Option<Cookie>,
    /// Data is taken without a cookie.
    pub without_cookie: bool,
}

pub(crate) enum FastOpenResponse {
    /// As without Fast Open, perhaps with a cookie for next time.
    Ordinary(Option<FastOpen>),
    /// Its data is taken, perhaps with a new cookie for next time.
    Early(Option<FastOpen>),
}

impl FastOpenPermit {
    /// Selects the response to a SYN (Linux `tcp_try_fastopen`).
    fn respond(&self, syn: &Segment) -> FastOpenResponse {
        let option = syn
            .options
            .fast_open()
            .filter(|option| option.cookie.is_empty() || option.cookie.is_well_formed());
        if option.is_none() && syn.payload_bytes == 0 {
            return FastOpenResponse::Ordinary(None);
        }
        if self.without_cookie {
            return FastOpenResponse::Early(None);
        }
        let Some(FastOpen { kind, cookie }) = option else {
            return FastOpenResponse::Ordinary(None);
        };
        let fresh = Some(FastOpen { kind, cookie: self.cookie });
        if cookie == self.cookie {
            FastOpenResponse::Early(None)
        } else if self.former == Some(cookie) {
            FastOpenResponse::Early(fresh)
        } else {
            FastOpenResponse::Ordinary(fresh)
        }
    }
}

#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate fact")]
pub(crate) struct FastOpenState {
    /// Contents of our SYN; taken when it is sent.
    syn: Option<FastOpenSyn>,
    /// Our SYN carried the option.
    asked: Option<FastOpenKind>,
    /// Data bytes of our SYN.
    syn_bytes: u32,
    /// The SYN's data was acknowledged (client) or taken (server): `tcpi_options`.
    is_syn_data_acknowledged: bool,
    failure: Option<FastOpenFailure>,
    update: Option<FastOpenUpdate>,
    /// Permission of a listening end.
    permit: Option<FastOpenPermit>,
    /// The option of our SYN-ACK; taken when it is sent.
    reply: Option<FastOpen>,
    /// The connection is in use though its handshake is not over.
    is_early: bool,
    /// The connection was in use before its handshake was over.
    opened_early: bool,
    /// The application waits with more data for the connection to open.
    has_data_waiting: bool,
    /// The application has accepted it.
    is_accepted: bool,
    /// `shutdown` was called and takes effect after the handshake.
    shut_down: bool,
    /// The application has closed an early connection.
    finished: bool,
}

impl FastOpenState {
    getters! {
        /// Bytes of data that our SYN carries.
        syn_bytes: u32,
        /// Why data with the SYN did not save a round trip.
        failure: Option<FastOpenFailure>,
        is_early: bool,
        opened_early: bool,
        has_data_waiting: bool,
        is_syn_data_acknowledged: bool,
        is_accepted: bool,
    }

    /// Sets the contents of our SYN; `own_mss` limits its data.
    pub(crate) fn set_syn(&mut self, syn: FastOpenSyn, own_mss: u16) {
        if let FastOpenSyn::Data { bytes, peer_mss, .. } = syn {
            let room =
                peer_mss.map_or(own_mss, |peer| peer.min(own_mss)).saturating_sub(OPTION_BYTES);
            self.syn_bytes = bytes.min(u32::from(room));
        } else {
            self.failure = Some(FastOpenFailure::CookieUnavailable);
        }
        self.syn = Some(syn);
    }

    pub(crate) fn expect_data(&mut self) {
        self.has_data_waiting = true;
    }

    /// Change of the driver's cache by the answer to our SYN, once.
    pub(crate) fn take_update(&mut self) -> Option<FastOpenUpdate> {
        self.update.take()
    }

    /// The options of our first SYN with Fast Open's, and the bytes of its data (Linux
    /// `tcp_send_syn_data`).
    #[cold]
    pub(crate) fn take_syn(&mut self, options: Options) -> (Options, u32) {
        let Some(syn) = self.syn.take() else { return (options, 0) };
        let option = match syn {
            FastOpenSyn::Request(kind) => Some(FastOpen { kind, ..FastOpen::default() }),
            FastOpenSyn::Data { option, .. } => option,
        };
        self.asked = option.map(|option| option.kind);
        (option.map_or(options, |option| options.with_fast_open(&option)), self.syn_bytes)
    }

    /// Whether our SYN carried the option or data.
    pub(crate) fn was_tried(&self) -> bool {
        self.asked.is_some() || self.syn_bytes > 0
    }

    /// Processes the answer to our SYN (Linux `tcp_rcv_fastopen_synack`): `outstanding` if it
    /// acknowledges less than the data, `repeated` if the SYN was sent more than once.
    #[cold]
    pub(crate) fn on_answer(&mut self, answer: &Segment, outstanding: bool, repeated: bool) {
        let asked = self.asked;
        let cookie = answer
            .options
            .fast_open()
            .filter(|option| asked.is_some() && option.cookie.is_well_formed());
        let ask_next = match asked {
            _ if repeated || cookie.is_some() || self.syn_bytes > 0 => None,
            None => None,
            Some(FastOpenKind::Assigned) => Some(FastOpenKind::Experimental),
            Some(FastOpenKind::Experimental) => Some(FastOpenKind::Assigned),
        };
        self.update = Some(FastOpenUpdate {
            cookie,
            peer_mss: answer.options.mss.unwrap_or(super::DEFAULT_MSS),
            ask_next,
            data_was_dropped: repeated && cookie.is_none() && outstanding,
        });
        if !outstanding {
            self.is_syn_data_acknowledged = self.syn_bytes > 0;
        } else if repeated {
            self.failure = Some(FastOpenFailure::SynRetransmitted);
        } else {
            self.failure = Some(FastOpenFailure::DataNotAcknowledged);
        }
    }

    /// Allows Fast Open for the SYN to come.
    pub(crate) fn permit(&mut self, permit: FastOpenPermit) {
        self.permit = Some(permit);
    }

    /// A SYN has arrived at a listening end. Returns whether it opens the connection early.
    pub(crate) fn on_syn(&mut self, syn: &Segment) -> bool {
        let Some(permit) = self.permit.take() else { return false };
        match permit.respond(syn) {
            FastOpenResponse::Ordinary(reply) => {
                self.reply = reply;
                false
            }
            FastOpenResponse::Early(reply) => {
                self.reply = reply;
                self.is_early = true;
                self.opened_early = true;
                self.is_syn_data_acknowledged = syn.payload_bytes > 0;
                true
            }
        }
    }

    /// Adds Fast Open to the options of our SYN-ACK: only the first one has a cookie.
    pub(crate) fn take_reply(&mut self, options: Options) -> Options {
        self.reply.take().map_or(options, |reply| options.with_fast_open(&reply))
    }

    pub(crate) fn note_accepted(&mut self) {
        self.is_accepted = true;
    }

    pub(crate) fn shut_down(&mut self) {
        self.shut_down = true;
    }

    pub(crate) fn close(&mut self, early: bool) {
        self.finished = early;
    }

    /// Whether the application has called `shutdown`.
    pub(crate) fn is_shut(&self) -> bool {
        self.finished || self.shut_down
    }

    /// Ends the handshake. Returns whether the application has closed the connection before, and
    /// whether `shutdown` takes effect.
    pub(crate) fn establish(&mut self) -> (bool, bool) {
        self.is_early = false;
        (self.finished, std::mem::take(&mut self.shut_down))
    }
}

/// A server's secret. Servers that share it accept each other's cookies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CookieKey([u8; 16]);

impl CookieKey {
    /// This secret.
    pub const fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The secret in the notation of Linux: four hexadecimal numbers, least significant byte first
    /// (`tcp_fastopen_key`).
    pub fn from_words(words: [u32; 4]) -> Self {
        let mut bytes = [0; 16];
        for (four, word) in bytes.chunks_exact_mut(4).zip(words) {
            four.copy_from_slice(&word.to_le_bytes());
        }
        Self(bytes)
    }

    /// The cookie of `client` at `server`: eight bytes of `SipHash` over both addresses (Linux
    /// `__tcp_fastopen_cookie_gen_cipher`).
    pub fn cookie(&self, client: IpAddr, server: IpAddr) -> Cookie {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        for address in [client, server] {
            match address {
                IpAddr::V4(address) => hasher.write(&address.octets()),
                IpAddr::V6(address) => hasher.write(&address.octets()),
            }
        }
        Cookie::new(&hasher.finish().to_le_bytes()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Measured on Linux 6.18.
    #[test]
    fn cookie_equals_linux_cookie() {
        let key = CookieKey::from_words([0xa1a1_a1a1, 0xb2b2_b2b2, 0xc3c3_c3c3, 0xd4d4_d4d4]);
        let cookie = key.cookie([192, 0, 2, 1].into(), [192, 168, 0, 1].into());
        assert_eq!(cookie.as_slice(), [0x30, 0x21, 0xb9, 0xd8, 0x89, 0x01, 0x7e, 0xeb]);
    }

    #[test]
    fn cookies_differ_by_key_and_address() {
        let key = CookieKey::from_words([1, 2, 3, 4]);
        let [one, other, server] =
            [[192, 0, 2, 1], [192, 0, 2, 2], [192, 168, 0, 1]].map(IpAddr::from);
        let cookie = key.cookie(one, server);
        assert_eq!(cookie.len(), 8);
        assert_eq!(cookie, key.cookie(one, server));
        assert_ne!(cookie, key.cookie(other, server));
        assert_ne!(cookie, CookieKey::from_words([1, 2, 3, 5]).cookie(one, server));
    }
}
