//! What captures tell of TCP: connections followed at one tap, or joined between two.
//!
//! A capture is read packet by packet, in one pass. Each packet finds its connection, and its stream
//! (one direction's data of that connection). What was *seen* there becomes an observation for
//! [`fairwind_measure`], whose tables have one definition for simulations, runs on the kernel and
//! captures alike. What can only be *inferred* from packets (why something was sent again, how large
//! the window was, who waited for whom) is this room's own, in tables of its own.
//!
//! It runs no experiment, keeps no packet, and remembers open connections only.
//!
//! Modules: `connection` (open connections: whose a packet is, how they begin and end), `analysis` (from
//! sources of packets to tables), [`stream`] (what one tap tells of one direction's data), [`one_way`] (what
//! two taps tell of it), `slowest` (the longest waits), [`trace`] (points that draw a flow), `writes` (what an application wrote).

mod analysis;
mod columns;
mod connection;
pub mod one_way;
mod slowest;
pub mod stream;
pub mod trace;
mod writes;

pub use analysis::{
    AddressTranslation, Analysis, AnalysisError, CaptureFacts, CaptureSource, ClockMode,
    FrameCounts, GroupRule, NextPacket, Outcome, PacketSource, Progress, Settings, TimeLimit,
};
pub use columns::columns;
pub use connection::{Side, Vantage};
pub use writes::{Write, Writes, WritesError, extract_writes};
