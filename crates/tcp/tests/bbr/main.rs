//! BBR on a simple path, against its published behaviour.

#![expect(unreachable_pub, reason = "one test program, several modules")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod path;
mod recorder;
mod version1;
mod version3;
