//! Where packets come from.

use fairwind_capture::Packet;
use std::ops::ControlFlow;

/// What a source has next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// A packet, which has been put where it was asked for.
    Packet,
    /// Nothing now, but more may come.
    Wait,
    /// Nothing any more.
    End,
}

/// Packets of one tap, in the order in which they were captured.
pub trait PacketSource {
    /// Puts the next packet into `packet`.
    fn next(&mut self, packet: &mut Packet) -> Next;
}

/// Packets that somebody makes up: for tests, and for what is captured in memory.
impl<F: FnMut(&mut Packet) -> ControlFlow<()>> PacketSource for F {
    fn next(&mut self, packet: &mut Packet) -> Next {
        match self(packet) {
            ControlFlow::Continue(()) => Next::Packet,
            ControlFlow::Break(()) => Next::End,
        }
    }
}
