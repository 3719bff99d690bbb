//! The system under test: system calls, packets and time.
//!
//! Following and judging a script is the same whoever is under test; what differs is behind
//! [`System`]: our endpoint in virtual time, or something real with a clock of its own. Numbers here
//! are *live*, as they are on the wire; [`Translation`](super::translation) brings them to the
//! script's.

use crate::outcome::Step;
use crate::script::{Call, Icmp, Packet};
use fairwind_units::{Instant, Span};
use std::borrow::Cow;

/// Which connection a packet belongs to: systems number them as they meet them.
pub type ConnectionIndex = usize;

/// A packet that the system has sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// Its connection.
    pub connection: ConnectionIndex,
    /// When it was sent.
    pub at: Instant,
    /// The packet in live numbers, with every field written and its options as they stand in the
    /// header.
    pub packet: Packet,
}

/// Whether anything happened while time passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advance {
    /// Perhaps: there may be packets, or a waiting call may have returned, and it may not be the
    /// instant yet that was waited for.
    Happened,
    /// That instant is there, and nothing more happens at it.
    Settled,
}

/// What a call returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Returned {
    /// The value, −1 where it failed.
    pub value: i64,
    /// The name of the error.
    pub error: Option<Cow<'static, str>>,
    /// When.
    pub at: Instant,
}

/// How far a call has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// It has returned.
    Returned(Returned),
    /// It waits.
    Waits,
}

/// Something that speaks TCP and can be called.
pub trait System {
    /// The present instant, on the system's own clock.
    fn now(&self) -> Instant;

    /// How much later than they are due its timers may run out.
    fn lag(&self) -> Span {
        Span::ZERO
    }

    /// Times that calls hand back count from `origin`, when the script begins, and may be off by
    /// `tolerance`.
    fn begin(&mut self, origin: Instant, tolerance: Span);

    /// Lets time pass until something happens, or to `limit`.
    ///
    /// # Errors
    /// Where the system itself fails.
    fn pass(&mut self, limit: Instant) -> Step<Advance>;

    /// The packet sent first of those that nobody has looked at.
    fn take_sent(&mut self) -> Option<Sent>;

    /// The connection that an injected packet, still in the script's numbers, goes to. A SYN for a
    /// listening socket may begin one.
    ///
    /// # Errors
    /// Where there is none.
    fn connection_for(&mut self, packet: &Packet) -> Step<ConnectionIndex>;

    /// The connection that the script has come to; `None` while the next one is waited for.
    fn under_test(&self) -> Option<ConnectionIndex>;

    /// Hands over a packet in live numbers.
    ///
    /// # Errors
    /// Where the system cannot take such a packet.
    fn inject(&mut self, connection: ConnectionIndex, packet: &Packet) -> Step<()>;

    /// The connection that a message of the path is about.
    ///
    /// # Errors
    /// Where there is none.
    fn connection_for_message(&mut self) -> Step<ConnectionIndex>;

    /// Hands over a message of the path, its quoted range in live numbers.
    ///
    /// # Errors
    /// Where the system cannot take such a message.
    fn inject_message(&mut self, connection: ConnectionIndex, message: &Icmp) -> Step<()>;

    /// Begins a call. At most one waits at a time; after [`Progress::Waits`] it is to be asked for
    /// with [`waiting_call`](Self::waiting_call) whenever something has happened.
    ///
    /// # Errors
    /// Where the call cannot be made, or what it hands back besides its value is not as expected.
    fn call(&mut self, call: &Call) -> Step<Progress>;

    /// How far the waiting call has come.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    fn waiting_call(&mut self) -> Step<Progress>;

    /// Runs a command of the shell.
    ///
    /// # Errors
    /// Where it fails or has no meaning for the system.
    fn command(&mut self, text: &str) -> Step<()>;

    /// Runs code in Python behind `definitions` of what it can ask for; `None` where there is no Python.
    fn code(&mut self, _definitions: &str, _text: &str) -> Option<Step<()>> {
        None
    }

    /// Runs the command behind the last event, however the script ended.
    ///
    /// # Errors
    /// Where it fails.
    fn clean_up(&mut self, text: &str) -> Step<()>;

    /// What the connection begun last tells of itself: fields of `TCP_INFO`, whole names.
    ///
    /// # Errors
    /// Where it cannot be asked.
    fn information(&mut self) -> Step<Vec<(&'static str, i64)>>;
}
