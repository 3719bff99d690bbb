//! Applications as state machines: greedy and thin senders, clients and servers.
//!
//! An application is asked when it wants to write next and how much; it never touches a socket or
//! a clock. The simulator asks it in virtual time, and a driver of real sockets may ask it in real
//! time.
//!
//! ```
//! use fairwind_units::{Instant, Span};
//! use fairwind_workload::{Application, Sampler, Thin};
//!
//! let mut thin = Application::Thin(Thin::new(
//!     Sampler::Constant(120),
//!     Sampler::Constant(Span::from_millis(150).as_nanos()),
//!     7,
//! ));
//! thin.begin(Instant::ZERO);
//! assert_eq!(thin.poll_write(Instant::ZERO, 0), Some(120));
//! assert_eq!(thin.next_write(), Instant::from_millis(150));
//! ```
//!
//! Modules: `sampler` (distributions), `quantiles` (a distribution from a table), `senders` (greedy, thin, steady, bursts,
//! replay, relay), `exchange` (client and server, pages, transfers), `application` (any of them, also without a
//! connection).

mod application;
mod exchange;
mod quantiles;
mod sampler;
mod senders;

pub use application::{Application, Datagrams};
pub use exchange::{Caller, Client, Exchanges, Pages, Provider, Server, Transfer};
pub use quantiles::{Quantiles, QuantilesError};
pub use sampler::{OtherLaw, Sampler};
pub use senders::{BurstLength, Greedy, OnOff, Pace, Relay, Replay, Steady, Thin, Write};
