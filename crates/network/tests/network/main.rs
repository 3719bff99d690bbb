//! The network as a whole, its links and its queues.

mod ack_filter;
mod any_carrier;
mod any_discipline;
mod any_impairments;
mod cake;
mod conservation;
mod controlled;
mod copies;
mod demand;
mod disciplines;
mod errors;
mod flowing;
mod fq;
mod hfsc;
mod late_poll;
mod links;
mod overfull;
mod pfifo_fast;
mod queues;
mod responsive;
mod routing;
mod shapers;
mod support;
mod theory;
