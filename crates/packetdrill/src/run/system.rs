//! The system under test: system calls, packets and time.
//!
//! Running and verifying a script is the same for every system. [`System`] abstracts the difference:
//! our endpoint in virtual time, or a real one with a real clock. Numbers here are *live*, as on the
//! wire; [`Translation`](super::translation) maps them to those of the script.

use crate::outcome::Step;
use crate::script::{Call, Icmp, Packet};
use fairwind_units::{Instant, Span};
use std::borrow::Cow;

/// Index of a connection; systems number connections in the order of appearance.
pub type ConnectionIndex = usize;

/// A packet that the system has sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// Its connection.
    pub connection: ConnectionIndex,
    /// When it was sent.
    pub at: Instant,
    /// The packet in live numbers, with all fields and with the options in header order.
    pub packet: Packet,
}

/// Whether an event occurred while time passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advance {
    /// Possibly: there may be packets, a blocking call may have returned, and the instant may not
    /// be reached.
    Happened,
    /// The instant is reached, and no further event occurs at it.
    Settled,
}

/// Result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Returned {
    /// The value, −1 where it failed.
    pub value: i64,
    /// The name of the error.
    pub error: Option<Cow<'static, str>>,
    /// When.
    pub at: Instant,
}

/// Progress of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// It has returned.
    Returned(Returned),
    /// It waits.
    Waits,
}

/// A TCP implementation under test.
pub trait System {
    /// The present instant, on the system's own clock.
    fn now(&self) -> Instant;

    /// How late its timers may run out.
    fn lag(&self) -> Span {
        Span::ZERO
    }

    /// Starts the script: times that calls return count from `origin` and may be off by
    /// `tolerance`.
    fn begin(&mut self, origin: Instant, tolerance: Span);

    /// Advances time to the next event, or to `limit`.
    ///
    /// # Errors
    /// If the system itself fails.
    fn pass(&mut self, limit: Instant) -> Step<Advance>;

    /// The first sent packet that is not taken yet.
    fn take_sent(&mut self) -> Option<Sent>;

    /// The connection that receives an injected packet, which is in the script's numbers. A SYN for
    /// a listening socket may begin one.
    ///
    /// # Errors
    /// If there is none.
    fn connection_for(&mut self, packet: &Packet) -> Step<ConnectionIndex>;

    /// The connection that the script has come to; `None` while the next one is waited for.
    fn under_test(&self) -> Option<ConnectionIndex>;

    /// Injects a packet in live numbers.
    ///
    /// # Errors
    /// If the system does not support such a packet.
    fn inject(&mut self, connection: ConnectionIndex, packet: &Packet) -> Step<()>;

    /// The connection that a message of the path is about.
    ///
    /// # Errors
    /// Where there is none.
    fn connection_for_message(&mut self) -> Step<ConnectionIndex>;

    /// Injects an ICMP message, with its quoted range in live numbers.
    ///
    /// # Errors
    /// If the system does not support such a message.
    fn inject_message(&mut self, connection: ConnectionIndex, message: &Icmp) -> Step<()>;

    /// Begins a call. At most one call waits at a time; after [`Progress::Waits`], retry it with
    /// [`waiting_call`](Self::waiting_call) after every event.
    ///
    /// # Errors
    /// If the call is not supported, or its output differs from the script.
    fn call(&mut self, call: &Call) -> Step<Progress>;

    /// Progress of the waiting call.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    fn waiting_call(&mut self) -> Step<Progress>;

    /// Runs a command of the shell.
    ///
    /// # Errors
    /// Where it fails or has no meaning for the system.
    fn command(&mut self, text: &str) -> Step<()>;

    /// Runs Python code after `definitions` of the variables; `None` without Python.
    fn code(&mut self, _definitions: &str, _text: &str) -> Option<Step<()>> {
        None
    }

    /// Runs the cleanup command, whatever the outcome of the script.
    ///
    /// # Errors
    /// If it fails.
    fn clean_up(&mut self, text: &str) -> Step<()>;

    /// `TCP_INFO` of the connection opened last: full field names and values.
    ///
    /// # Errors
    /// If it is not available.
    fn information(&mut self) -> Step<Vec<(&'static str, i64)>>;
}
