//! Arbitrary bytes for everything that reads what others write.
//!
//! Each target is a plain function of some bytes: it panics where they break something, and returns
//! where they do not. An engine outside (`fuzz/engine`, libFuzzer) looks for such bytes by following
//! which code they reach; what it has found is kept in `fuzz/corpus/<target>/`, and the tests of this
//! room replay it. So every find stays found, without any tool but `cargo test`.
//!
//! - `make fuzz` runs a million executions of each target.
//! - A find is a file; copy it into the corpus of its target before it is mended.
//!
//! ```
//! fairwind_fuzz::headers(b"no packet");
//! fairwind_fuzz::script(b"+0 < S 0:0(0) win 1");
//! ```
//!
//! | target | what reads the bytes |
//! |---|---|
//! | [`headers`] | the parser of IP packets |
//! | [`options`] | the parser of TCP options |
//! | [`endpoint`] | one endpoint, of any profile and state: segments, calls, messages and time |
//! | [`conversation`] | two endpoints over a path that loses, repeats, delays and marks |
//! | [`script`] | the reader of packetdrill scripts, and the runner of those that it can read |
//! | [`capture`] | the reader of capture files |
//! | [`frame`] | the reader of frames of any link |
//! | [`filter`] | the reader of filters, and a filter about a frame |
//! | [`analysis`] | the analyser: files, or packets of a few connections, through the whole loop |

mod analysis;
mod capture;
mod conversation;
mod endpoint;
mod frames;
mod packets;
mod scripts;

pub use analysis::analysis;
pub use capture::capture;
pub use conversation::conversation;
pub use endpoint::endpoint;
pub use frames::{filter, frame};
pub use packets::{headers, options};
pub use scripts::script;

/// A target.
pub type Target = fn(&[u8]);

/// All targets by name.
pub const TARGETS: [(&str, Target); 9] = [
    ("headers", headers),
    ("options", options),
    ("endpoint", endpoint),
    ("conversation", conversation),
    ("script", script),
    ("capture", capture),
    ("frame", frame),
    ("filter", filter),
    ("analysis", analysis),
];
