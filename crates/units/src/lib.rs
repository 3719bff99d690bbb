//! Exact integer time, sizes, rates and shares, parsed and printed with their units.
//!
//! Every quantity that another room computes with lives here as an integer newtype: an [`Instant`]
//! and a [`Span`] in nanoseconds, a [`ByteCount`], a [`BitRate`] in bits per second, a [`Ratio`] in
//! parts per billion. They never touch a clock, a file or a floating-point rounding mode, so the
//! same experiment gives the same numbers on every machine.
//!
//! Text goes in and out with a unit (`"20 ms"`, `"10 Mbit/s"`, `"1500 B"`, `"2 %"`); a bare number
//! is refused with a hint, and so is text that the integer cannot hold exactly.
//!
//! ```
//! use fairwind_units::{BitRate, ByteCount, Span};
//! let rate: BitRate = "12 Mbit/s".parse()?;
//! assert_eq!(rate.serialisation_time(ByteCount::new(1500)), Span::from_millis(1));
//! # Ok::<(), fairwind_units::UnitError>(())
//! ```
//!
//! Modules: `time` (instants and spans), `size` (byte counts), `rate` (bit rates), `ratio`
//! (shares and probabilities), `text` (the one decimal parser behind them all).

mod rate;
mod ratio;
mod size;
mod text;
mod time;

pub use rate::BitRate;
pub use ratio::Ratio;
pub use size::ByteCount;
pub use text::UnitError;
pub use time::{Instant, Span};
