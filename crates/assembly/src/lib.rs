//! Assembly of an experiment from its parts, for every engine.
//!
//! An experiment and a seed become a network with measured queues, flows with addresses, ports,
//! applications and starting times, and the settings of the measures. The simulator joins them with
//! endpoints of ours and a virtual clock, the testbed with the running kernel's and the machine's.
//! Because both build the same things from the same description, what differs in their results
//! is the endpoint or the clock.
//!
//! ```
//! use fairwind_assembly::{Assembly, FlowPacket, PacketLabel};
//! use fairwind_network::{NodeId, Packet};
//! use fairwind_scenario::Document;
//! # #[derive(Clone, Copy)]
//! # struct Parcel(PacketLabel, NodeId);
//! # impl Packet for Parcel {
//! #     fn wire_bytes(&self) -> u32 { 1500 }
//! #     fn destination(&self) -> NodeId { self.1 }
//! # }
//! # impl FlowPacket for Parcel {
//! #     fn label(&self) -> PacketLabel { self.0 }
//! # }
//! let text = r#"
//!     name = "one greedy flow"
//!     duration = "10 s"
//!     [path]
//!     rate = "10 Mbit/s"
//!     rtt = "20 ms"
//!     [[flows]]
//!     name = "greedy"
//!     workload = { kind = "greedy" }
//! "#;
//! let document = Document::parse("example.toml", text)?;
//! let experiment = document.experiment(&document.grid()?[0])?;
//! let assembly = Assembly::<Parcel>::new(&experiment, 1, |_| true)?;
//! assert_eq!(assembly.flows[0].name, "greedy-1");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Modules: `ack` (what an ACK filter reads of a segment), `assembly` (an experiment becomes network, flows and settings), `flow` (flows and their ends),
//! `application` (workloads become applications), `tap` (network events become observations), `run` (seeds,
//! captures, progress), `live` (counts under way), `delay_queue` (ACKs that client hosts hold back).

mod ack;
mod application;
mod assembly;
mod delay_queue;
mod error;
mod flow;
mod live;
mod run;
mod tap;

pub use ack::ack_of;
pub use assembly::Assembly;
pub use delay_queue::{DelayQueue, is_pure_ack};
pub use error::AssemblyError;
pub use flow::{
    DatagramPlan, FIRST_RECEIVER_PORT, FIRST_SENDER_PORT, FlowPlan, NextConnection, ResponsePlan,
    SENDER_PORTS, address, connection_of_ports,
};
pub use live::LiveView;
pub use run::{CaptureFiles, CaptureWriters, Control, Purpose, derive_seed};
pub use tap::{Damage, FlowPacket, PacketLabel, QueueMap, Sink, Tap};
