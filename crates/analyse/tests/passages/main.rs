//! Two taps: hand-made captures and their expected results.

#![expect(unreachable_pub, reason = "one test program, several modules")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![expect(clippy::float_cmp, reason = "counts and whole nanoseconds are exact")]

mod clocks;
mod columns;
mod copies;
#[path = "../../../measure/tests/measures/definitions.rs"]
mod definitions;
mod delays;
mod losses;
mod offload;
mod path;
mod random;
mod world;
