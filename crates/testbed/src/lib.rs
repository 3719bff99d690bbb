//! Experiments on the running Linux kernel: their hosts are processes with namespaces and real sockets, and the network
//! between them is ours, in real time.
//!
//! This crate drives the rooms that an experiment is made of: [`fairwind_hosts`], [`fairwind_router`] or
//! [`fairwind_kernel_router`], [`fairwind_recorder`], [`fairwind_bpf`], [`fairwind_kernel_settings`],
//! [`fairwind_windows`].
//!
//! Experiments need root, or user namespaces and a TUN device that everybody may open. [`capabilities`] reports what is
//! missing and how to get it.
//!
//! | module | concern |
//! |---|---|
//! | `experiment` | an experiment on the running kernel, from the first check to the tables: [`KernelRun`] |
//! | [`capabilities`] | what this machine has for experiments, and how to get the rest |
//! | [`cleanup`] | what dead runs have left, and its removal |

pub mod capabilities;
pub mod cleanup;
mod experiment;

pub use experiment::{CheckReport, KernelRun, Outcome, RunError, check};
