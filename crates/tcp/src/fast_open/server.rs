//! The end that listens: which cookies it accepts, and a connection that is used early.

use crate::connection::Connection;
use crate::event::Event;
use crate::state::State;
use fairwind_units::Instant;
use fairwind_wire::{Cookie, FastOpen, Options, Segment};

/// What a listening end may do with the option of one client, as its driver says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FastOpenPermit {
    /// The client's cookie by the server's key.
    pub cookie: Cookie,
    /// The same by the key before that, which is still accepted.
    pub former: Option<Cookie>,
    /// Data is taken without a cookie.
    pub without_cookie: bool,
}

/// What becomes of a SYN.
enum Verdict {
    /// As ever, perhaps with a cookie for next time.
    Ordinary(Option<FastOpen>),
    /// Its data is taken, perhaps with a new cookie for next time.
    Early(Option<FastOpen>),
}

impl FastOpenPermit {
    /// Judges a SYN (Linux `tcp_try_fastopen`).
    fn judge(&self, syn: &Segment) -> Verdict {
        let option = syn
            .options
            .fast_open()
            .filter(|option| option.cookie.is_empty() || option.cookie.is_well_formed());
        if option.is_none() && syn.payload_bytes == 0 {
            return Verdict::Ordinary(None);
        }
        if self.without_cookie {
            return Verdict::Early(None);
        }
        let Some(FastOpen { kind, cookie }) = option else { return Verdict::Ordinary(None) };
        let fresh = Some(FastOpen { kind, cookie: self.cookie });
        if cookie == self.cookie {
            Verdict::Early(None)
        } else if self.former == Some(cookie) {
            Verdict::Early(fresh)
        } else {
            Verdict::Ordinary(fresh)
        }
    }
}

impl Connection {
    /// Allows Fast Open for the SYN to come; to be called while listening, where the socket wants it
    /// and not too many early connections wait.
    pub fn permit_fast_open(&mut self, permit: FastOpenPermit) {
        self.fast_open.permit = Some(permit);
    }

    /// Whether the connection is in use though its handshake is not over.
    pub fn is_early(&self) -> bool {
        self.fast_open.early && self.state == State::SynReceived
    }

    /// Whether the connection has ended before its handshake was over, and was in use.
    pub fn was_early(&self) -> bool {
        self.fast_open.early && self.state == State::Closed
    }

    /// Says that the application has accepted the connection: from then on complaints of the path do
    /// not end it, though its handshake be not over.
    pub fn note_accepted(&mut self) {
        self.fast_open.accepted = true;
    }

    /// Closes the sending direction, but keeps the socket (`shutdown`): that of an early connection
    /// only once its handshake is over (Linux `tcp_shutdown`).
    pub fn shut_down(&mut self) {
        if self.is_early() {
            self.fast_open.shut_down = true;
        } else {
            self.close();
        }
    }

    /// Whether the application has said that it will not write any more.
    pub(crate) fn is_shut_early(&self) -> bool {
        self.fast_open.finished || self.fast_open.shut_down
    }

    /// Whether data may be sent for the first time.
    #[inline]
    pub(crate) fn may_send(&self) -> bool {
        self.state.may_send() || self.state == State::SynReceived && self.fast_open.early
    }

    /// A SYN has arrived at a listening end that knows Fast Open.
    pub(crate) fn on_fast_open_syn(&mut self, syn: &Segment, now: Instant) {
        let Some(permit) = self.fast_open.permit.take() else { return };
        match permit.judge(syn) {
            Verdict::Ordinary(reply) => self.fast_open.reply = reply,
            Verdict::Early(reply) => {
                self.fast_open.reply = reply;
                self.fast_open.early = true;
                self.fast_open.opened_early = true;
                self.fast_open.syn_data_acknowledged = syn.payload_bytes > 0;
                self.open_receiver(now);
                self.begin_idle_time(now);
                self.take_pending_advice();
                self.take_syn_text(syn);
                self.events.push_back(Event::OpenedEarly);
            }
        }
    }

    /// The options of our SYN-ACK: a cookie stands in the first one only.
    pub(crate) fn take_fast_open_reply(&mut self, options: Options) -> Options {
        self.fast_open.reply.take().map_or(options, |reply| options.with_fast_open(&reply))
    }
}
