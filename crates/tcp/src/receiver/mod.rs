//! The receiving half: order, acknowledgments, memory, windows.
//!
//! | module | concern |
//! |---|---|
//! | `acknowledger` | when an acknowledgment goes out |
//! | `buffer`, `packet` | the memory that received packets take; how much one takes |
//! | `window` | the window offered |
//! | `opening` | what the handshake sets up |
//! | `counters` | what has been received so far |
//! | `tuning` | a buffer that grows with what is read per round trip |
//! | `reassembly` | what arrived ahead of its turn, and the blocks that report it |
//! | `segment_size` | what the peer's full segments hold |
//! | `urgent` | the urgent byte |
//! | `reading` | what the application reads |
//! | `room` | making room where memory is short |

mod acknowledger;
mod buffer;
mod counters;
mod opening;
mod packet;
mod reading;
mod reassembly;
mod room;
mod segment_size;
mod tuning;
mod urgent;
mod window;

pub(crate) use acknowledger::Acknowledger;
pub(crate) use buffer::ReceiveBuffer;
pub(crate) use counters::Received;
pub(crate) use packet::Packet;
pub(crate) use reassembly::Reassembly;
pub(crate) use segment_size::{SegmentSize, Told};
pub(crate) use tuning::Tuning;
pub(crate) use urgent::UrgentByte;
pub use urgent::UrgentRead;
pub(crate) use window::FirstWindow;
