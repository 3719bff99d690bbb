//! What applications do: greedy and thin senders, clients and servers, as state machines.
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
//! Modules: `sampler` (distributions), `quantiles` (a distribution from a table), `greedy`, `thin`, `exchange` (client and server), `page`
//! (what a browser asks for), `transfer` (one per connection), `on_off`, `pace` (a constant rate), `replay`, `relay`
//! (what another connection brought), `application` (any of them), `datagrams` (any of them without a connection).

mod application;
mod datagrams;
mod exchange;
mod greedy;
mod on_off;
mod pace;
mod page;
mod quantiles;
mod relay;
mod replay;
mod sampler;
mod thin;
mod transfer;

pub use application::Application;
pub use datagrams::Datagrams;
pub use exchange::{Client, Exchanges, Server};
pub use greedy::Greedy;
pub use on_off::{BurstLength, OnOff};
pub use pace::{Pace, Steady};
pub use page::Pages;
pub use quantiles::{Quantiles, QuantilesError};
pub use relay::Relay;
pub use replay::{Replay, Write};
pub use sampler::{OtherLaw, Sampler};
pub use thin::Thin;
pub use transfer::{Caller, Provider, Transfer};
