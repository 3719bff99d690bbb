//! The running Linux kernel under test: namespaces, TUN devices, real sockets, real time.
//!
//! [`run_script`] follows a packetdrill script with the kernel in place of our endpoint: the same
//! reader, the same translation of numbers and the same judge, but calls are system calls, commands
//! are the shell's, packets are bytes on a TUN device, and time is the machine's. Each run has a
//! network namespace of its own, which ends with it.
//!
//! [`KernelRun`] runs an experiment: its hosts are processes with namespaces and real sockets, and the
//! network between them is ours, in real time.
//!
//! Scripts need root (`CAP_NET_ADMIN` and `/dev/net/tun`); experiments also run in user namespaces,
//! where these and the device are open to everybody. What is missing is told with an error that says
//! how to get it, and by [`capabilities`]. All unsafe code is in the module `sys`.
//!
//! | module | concern |
//! |---|---|
//! | `sys` | system calls: the only unsafe code |
//! | `path` | addresses and packet size of a run, from a script's option lines |
//! | `namespace` | a fresh network namespace with its TUN device |
//! | `experiment` | an experiment on the running kernel, from the first check to the tables: [`KernelRun`] |
//! | `router` | the network between hosts in real time |
//! | `record` | what router and hosts saw, in order: measures and captures |
//! | [`host`] | the processes in which an experiment's hosts live: namespaces, sockets, events |
//! | [`live`] | our endpoint on a TUN device in conversation with the kernel |
//! | [`capabilities`] | what this machine has for experiments, and how to get the rest |
//! | [`leftovers`] | the names that a run leaves outside, and their removal however it ends |
//! | [`settings`] | a scenario's `tcp` tables as the kernel is told them, or why it cannot have them |
//! | [`controls`] | congestion controls in C, loaded into the kernel |
//! | [`ebpf`] | what the kernel itself tells, by programs at its tracepoints |
//! | [`shell`] | a real program behind an emulated path |
//! | [`kernel_router`] | a network of the kernel's own parts in place of ours |
//! | [`windows`] | congestion windows remembered by a program at a control group |
//! | `kernel` | the kernel as a [`System`](fairwind_packetdrill::System) that scripts are followed with |

pub mod capabilities;
pub mod controls;
pub mod ebpf;
mod error;
mod experiment;
pub mod host;
mod kernel;
pub mod kernel_router;
pub mod leftovers;
pub mod live;
mod namespace;
mod path;
mod record;
mod router;
pub mod settings;
pub mod shell;
mod sys;
pub mod windows;

pub use error::TestbedError;
pub use experiment::{KernelRun, Outcome, RunError, Verdict, check};
pub use kernel::{KernelOptions, availability, record_script, run_script};
