//! What a run leaves in the machine's own folders while it lives, and how it is removed however the
//! run ends.
//!
//! A run's namespaces, devices and sockets end with its processes, and those with the run. What does
//! not end by itself are *names*: of namespaces under `/run/netns`, so that people can look in with
//! `ip netns exec`, of control groups, of temporary folders. They all begin with the [`RunName`],
//! which tells the process that made them, so that nobody has to remember them:
//!
//! - a [`Guardian`], a process that waits for the end of the run, removes them however that comes;
//! - where even the guardian was killed, [`find`] finds those of runs that live no more, and
//!   [`remove`] removes them.
//!
//! | module | concern |
//! |---|---|
//! | `name` | the name of a run, and whether it still lives |
//! | `guardian` | the process that outlives the run |
//! | `search` | finding and removing what dead runs have left |

mod guardian;
mod name;
mod search;

pub use guardian::Guardian;
pub use name::RunName;
pub use search::{Leftover, LeftoverKind, Places, find, remove};
