//! BBR on a path of its own: what is published of how it behaves.

#![expect(unreachable_pub, reason = "one test program, several modules")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod path;
mod version1;
mod version3;
mod watched;
